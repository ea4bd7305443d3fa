"""What is seen: sets of images with a concept, a group and a maker each; drawn here, found on disk, or fetched."""
