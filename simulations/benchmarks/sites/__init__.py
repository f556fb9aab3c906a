"""What whoever asks learns of deployed sites: searches and studies, in one process."""
