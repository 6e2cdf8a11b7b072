#!/bin/bash
# Starts JupyterLab in its container: with the engine that the image has, and with notebooks that can be saved.
set -eu
cd
engines=.cache/cancha/engines
mkdir -p "$engines"
for engine in /opt/cancha/engines/*/; do # home may be a volume that an older image has filled
  name=$(basename "$engine")
  [ -e "$engines/$name" ] || { cp -a "$engine" "$engines/$name.new" && mv "$engines/$name.new" "$engines/$name"; }
done
folder=notebooks
if ! [ -w notebooks ]; then
  folder=notebooks-copy
  [ -e $folder ] || cp -r notebooks $folder
  echo "start.sh: the user $(id -u) may not write the folder notebooks, which belongs to $(stat -c %u notebooks). Its copy is in $folder, in the volume home."
  echo "start.sh: to work on the checkout's own: chown -R $(id -u) notebooks, there, and start the container again."
fi
exec jupyter lab --ip=0.0.0.0 --no-browser --ServerApp.root_dir="$HOME" --LabApp.default_url="/lab/tree/$folder" "$@"
