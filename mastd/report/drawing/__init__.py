"""Drawing of pictures and pages as SVG, HTML, PDF and PNG."""
