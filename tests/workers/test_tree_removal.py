import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.tree_removal import remove_tree

TREES = st.recursive(
    st.sampled_from(["file", "link", "pipe"]),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


def grow(folder: Path, tree: object, outside: Path) -> None:
    match tree:
        case "file":
            folder.write_bytes(b"x")
        case "link":
            folder.symlink_to(outside)
        case "pipe":
            os.mkfifo(folder)
        case dict():
            folder.mkdir()
            for name, inner in tree.items():
                grow(folder / name, inner, outside)


@settings(max_examples=50, deadline=None)
@given(tree=st.dictionaries(st.sampled_from("abc"), TREES, max_size=3))
def test_whatever_lies_in_a_folder_goes_and_what_links_name_stays(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, object]
) -> None:
    place = tmp_path_factory.mktemp("tree")
    (place / "outside").mkdir()
    (place / "outside" / "kept").touch()
    grow(place / "root", tree, place / "outside")
    remove_tree(place / "root")
    assert [path.name for path in place.iterdir()] == ["outside"]
    assert (place / "outside" / "kept").exists()


def test_a_folder_far_deeper_than_a_path_can_be_goes(tmp_path: Path) -> None:
    nest = "import os\nfor _ in range(1500): os.mkdir('d' * 100); os.chdir('d' * 100)"
    root = tmp_path / "root"
    root.mkdir()
    try:
        subprocess.run([sys.executable, "-c", nest], cwd=root, check=True)
        remove_tree(root)
        assert not root.exists()
    finally:
        subprocess.run(["/bin/rm", "-rf", root], check=True)


def test_what_cannot_be_removed_does_not_keep_the_rest(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    for name in ("a/file", "file"):
        (root / name).touch()
    # As with a mount point, which cannot be moved.
    real = os.rename

    def rename(source: str, target: str) -> None:
        if source.endswith("/a"):
            raise OSError(16, "Device or resource busy")
        real(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "rename", rename)
        remove_tree(root)
    assert [path.name for path in root.iterdir()] == ["a"]
    remove_tree(root)
    assert not root.exists()


def test_what_is_no_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link", "absent"):
        remove_tree(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]
