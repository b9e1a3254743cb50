"""Does a defect show, and does its fix take it away? A finding's path, walked with real torch objects."""
