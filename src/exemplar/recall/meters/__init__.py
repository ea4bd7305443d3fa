"""What a learner costs: memory kept between support sets, multiply-accumulates, and the largest memory in use."""
