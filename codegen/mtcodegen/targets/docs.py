"""Pages of documentation: one in Markdown a file, and one in HTML with all operators."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

from mtcodegen.entries.model import File
from mtcodegen.findings.diagnostics import Diagnostic
from mtcodegen.targets.job import Job
from mtcodegen.targets.pages import plan_page
from mtcodegen.targets.render import render_page, render_site

__all__ = ["narrowed", "of_file", "of_job"]


def narrowed(file: File) -> tuple[File, list[Diagnostic]]:
    """The file as it is: a page leaves nothing out."""
    return file, []


def of_file(file: File, path: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
    """A page in Markdown."""
    return {f"{path.stem}.md": render_page(plan_page(file, path.name))}


def of_job(job: Job, files: Mapping[pathlib.Path, File]) -> dict[str, str]:
    """One page with all operators and a search field."""
    pages = [plan_page(files[item.path.resolve()], item.path.name) for item in job.inputs]
    sources = ", ".join(page.source for page in pages)
    title = f"Operators of {job.package or ', '.join(page.title for page in pages)}"
    return {"index.html": render_site(job.package or sources, title, pages)}
