"""What participants read before they begin."""

CONSENT = (
    "This is a scientific experiment on how people see and learn. Taking part is voluntary: you may stop at any time by "
    "closing the page, and you may have your data deleted afterwards.",
    "We keep what you do in the experiment (your answers, how long they take, and how well your screen kept time) under a "
    "random number. We do not keep your name, your address on the network, or anything else about you that you are not asked "
    "for on the next page.",
    "The data may be published, so that other scientists can check and use them.",
)
LEARNING_INSTRUCTIONS = (
    "You will see one of two objects at a time, very briefly. Each object belongs to one of two keys: F (left circle) or J "
    "(right circle). Nobody tells you which: find out by trying.",
    "Look at the dot and press the space bar (or tap the dot). The object appears for a fifth of a second; then choose. A "
    "green tick means right; a black cross means wrong, and takes a little longer.",
    "At first you can only guess. Try to be right as often as you can. You have {seconds:g} seconds for each choice.",
    "The same object may be turned, smaller, larger, or somewhere else in the image. Which key it belongs to stays the same "
    "until the session ends.",
)
DRAWING_INSTRUCTIONS = {
    "copy": (
        "You will see a character that somebody drew. Draw the same character again, as if you wrote it yourself: the same "
        "character, not the same strokes.",
    ),
    "creative": (
        "You will see a character that somebody drew. Draw a variation of it: as different as you like, as long as others "
        "would still say that it is the same character.",
    ),
    "word": ("You will read a word. Draw what it says.",),
}
DRAWING_LIMIT = "You have {seconds:g} seconds for each drawing."
DRAWING_HINT = "Draw with a pen, a mouse or a finger. Undo takes back a stroke; Clear begins again; Done goes on."
TURING_INSTRUCTIONS = (
    "You will see two drawings of the same character. A person drew one of them; a computer drew the other.",
    "Which one did a person draw? Press F for the left one or J for the right one, or click on it.",
)
CLICKME_INSTRUCTIONS = (
    "You will see a drawing and what it is called. Your partner, a computer, sees an empty page and has to guess what it is.",
    "Paint over the parts of the drawing that matter most for telling what it is. Your partner sees what you have painted, and "
    "guesses all the time.",
    "You have {seconds:g} seconds, from your first touch. The sooner your partner is right, the more points you both get.",
    "If a drawing makes no sense to you, skip it.",
)
