"""The source documents' numbers beside ours."""
