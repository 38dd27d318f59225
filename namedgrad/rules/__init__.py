"""Every operation, declared once; one file per family."""
