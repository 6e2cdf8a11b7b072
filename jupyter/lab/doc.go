// Package lab is JupyterLab with the kernel in it: the pinned Python packages and the image. It holds no code but the test
// of these files and of the compose file that uses them, and ends where an image builder would have to run.
package lab
