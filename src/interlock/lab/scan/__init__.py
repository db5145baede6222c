"""What is wrong with tools by their definitions alone."""
