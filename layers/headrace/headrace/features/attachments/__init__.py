"""Files that messages name: uploading them to a bucket, checking and keeping them, and links to read them."""
