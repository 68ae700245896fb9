"""A profile as one page of HTML that works offline."""
from dse.profile.schema import Profile


def page(profile: Profile) -> str:
    """Return the page."""
    return profile.dumps()
