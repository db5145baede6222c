"""What stands in deploy/, tried as far as it can be without a container."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
