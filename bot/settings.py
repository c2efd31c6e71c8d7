"""Settings of the service, from the environment and a TOML file; the environment wins.

Secrets are never shown.
"""

from __future__ import annotations

import os
import socket
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import (
    AliasChoices,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from bot import urls
from bot.errors import UserError
from bot.github.app import App, Endpoint, OAuth

_PREFIX = "SPECBOT_"
_DATABASES = ("sqlite", "postgresql")
_CONFIG_FILE = f"{_PREFIX}CONFIG_FILE"
# Where sockets of the machine's services are.
_RUNTIME_DIR = Path("/run")


class Settings(BaseSettings):
    """`SPECBOT_APP_ID` in the environment is `app_id` in the file. Made by `load`."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, extra="forbid", hide_input_in_errors=True)

    github_api_url: str = Field(
        urls.API, validation_alias=AliasChoices("GITHUB_API_URL", "github_api_url")
    )
    github_server_url: str = Field(
        urls.SERVER, validation_alias=AliasChoices("GITHUB_SERVER_URL", "github_server_url")
    )
    app_id: int
    private_key: SecretStr
    private_key_file: Path | None = None
    webhook_secrets: Annotated[tuple[SecretStr, ...], NoDecode]
    client_id: str | None = None
    client_secret: SecretStr | None = None
    database_url: SecretStr | None = None
    data_dir: Path = Path("specbot-data")
    baselines_dir: Path | None = None
    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65535)
    metrics_port: int | None = Field(None, ge=1, le=65535)
    language: Literal["zh", "en"] = "en"
    # How a team gets used to it: nothing is posted, then bugs alone, then everything.
    posting: Literal["shadow", "bugs", "all"] = "all"
    # Where people reach the pages, such as https://specbot.example.com; reports link to them then.
    public_url: str = Field("", pattern=r"^(https?://[^\s]+[^/\s])?$")
    worker_id: str | None = None
    # How a check ends without a verdict. A required one is satisfied with `neutral` alone.
    on_error: Literal["action_required", "failure", "neutral"] = "action_required"
    reviews_at_once: int = Field(2, ge=1)
    write_gap: float = Field(1.0, ge=0.0)
    writes_per_hour: int = Field(400, ge=1)
    largest_webhook: int = Field(25 * 1024 * 1024, ge=1024)
    status_hooks: dict[str, SecretStr] = Field(default_factory=dict)
    commands_per_hour: int = Field(30, ge=1)
    author_reruns_per_hour: int = Field(10, ge=0)
    local_kernels: Literal["cuda", "cpu"] | None = None
    # Which of `specbot device`'s actions this host runs on its CPU.
    local_device: Literal["test", "compare", "cover"] | None = None
    gpu_minutes_per_pull: int = Field(240, ge=0)
    gpu_minutes_per_day: int = Field(1440, ge=0)
    # What is lost is made good within ten minutes, of which a minute is for the looking, and for
    # deliveries that are too young to have failed.
    redeliver_every: float = Field(300.0, gt=0.0)
    reconcile_every: float = Field(540.0, gt=0.0)
    retry_failed_every: float = Field(30.0, gt=0.0)
    # How long reports and what steps wrote down are kept. Work that has not ended is never deleted.
    keep_reports_days: float = Field(365.0, gt=0.0)
    keep_steps_days: float = Field(14.0, ge=4.0)
    keep_clones_days: float = Field(30.0, gt=0.0)
    # Of all clones together, and of what one fetch brings. A clone in use is never deleted.
    clones_gib: int = Field(50, ge=1)
    largest_fetch_mib: int = Field(2048, ge=1)
    ci_gather: float = Field(30.0, gt=0.0)
    ci_refresh_every: float = Field(1800.0, gt=0.0)
    heartbeat_every: float = Field(5.0, gt=0.0)
    dead_after: float = Field(30.0, gt=0.0)

    @field_validator("webhook_secrets", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        parts = [part.strip() for part in value.split(",")]
        return [part for part in parts if part]

    @field_validator("webhook_secrets")
    @classmethod
    def _strong(cls, value: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        secrets = [secret.get_secret_value().strip() for secret in value]
        if not secrets or "" in secrets:
            raise UserError("settings-webhook-secrets")
        return value

    @model_validator(mode="before")
    @classmethod
    def _key_file(cls, data: Any) -> Any:
        name = data.get("private_key_file")
        if name and not data.get("private_key"):
            try:
                data["private_key"] = Path(name).read_text("utf-8")
            except OSError as error:
                raise UserError("unreadable", path=str(name), reason=error.strerror) from error
        return data

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            kind = value.get_secret_value().partition(":")[0].partition("+")[0]
            if kind not in _DATABASES:
                raise UserError("settings-database", kind=kind[:20])
        return value

    @field_validator("private_key")
    @classmethod
    def _readable(cls, value: SecretStr) -> SecretStr:
        try:
            key = serialization.load_pem_private_key(value.get_secret_value().encode(), None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, rsa.RSAPrivateKey):
            raise UserError("settings-private-key")
        return value

    @property
    def oauth(self) -> OAuth | None:
        """The App's OAuth client, by which people sign in to see pages of private repositories;
        None without one."""
        if self.client_id is None or self.client_secret is None:
            return None
        return OAuth(
            self.client_id, self.client_secret, self.github_server_url, self.github_api_url
        )

    def baselines(self, repository: int) -> Path:
        """The store of a repository's logprob baselines.

        Where there are several hosts, `baselines_dir` is a folder that they share.
        """
        folder = self.baselines_dir or self.data_dir / "baselines"
        return folder / str(repository)

    @property
    def config_file(self) -> Path | None:
        """The TOML file that these settings were read from."""
        file = self.model_config.get("toml_file")
        return file if isinstance(file, Path) else None

    @property
    def hidden(self) -> tuple[Path, ...]:
        """What code under test must not see, besides what only root may: our secrets and data, and
        the sockets of services."""
        own = (self.data_dir, self.baselines_dir, self.private_key_file, self.config_file)
        paths = [path for path in own if path is not None]
        paths.append(_RUNTIME_DIR)
        return tuple(path.resolve() for path in paths if path.exists())

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(
            self.github_api_url, self.github_server_url, self.write_gap, self.writes_per_hour
        )

    @property
    def app(self) -> App:
        """The GitHub App, for what is no service: its writes keep no pace with others'."""
        return App(self.endpoint, self.app_id, self.private_key.get_secret_value())

    @property
    def database(self) -> str:
        """SQLAlchemy's URL: a file in `data_dir` unless another is given."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        return f"sqlite:///{(self.data_dir / 'specbot.sqlite').absolute()}"

    def executor(self, role: str) -> str:
        """This worker's name, the same after a restart."""
        return self.worker_id or f"{socket.gethostname()}-{role}"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings, env_settings, TomlConfigSettingsSource(settings_cls))


def load(file: str | None, **overrides: Any) -> Settings:
    """The settings from the environment and a TOML file.

    `file` stands for `SPECBOT_CONFIG_FILE`; what is in `overrides` and not None wins over
    everything. Raises `UserError` that names what is missing or wrong.
    """
    name = file if file is not None else os.environ.get(_CONFIG_FILE)
    given = {key: value for key, value in overrides.items() if value is not None}
    try:
        return _settings_class(name)(**given)
    except ValidationError as error:
        raise _as_user_error(error) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError("settings", problems=[f"{name}: {error}"]) from None
    except OSError as error:
        raise UserError("unreadable", path=name or "", reason=error.strerror) from None


def _settings_class(file: str | None) -> type[Settings]:
    """`Settings` that read `file`. Raises what reading it as TOML raises."""
    if file is None:
        return Settings
    path = Path(file)
    # pydantic-settings takes a file that is not there for an empty one.
    tomllib.loads(path.read_text("utf-8"))

    class FileSettings(Settings):
        model_config = SettingsConfigDict(toml_file=path)

    return FileSettings


def _as_user_error(error: ValidationError) -> UserError:
    problems = error.errors()
    missing = [
        f"{_PREFIX}{problem['loc'][0]}".upper()
        for problem in problems
        if problem["type"] == "missing"
    ]
    if missing:
        return UserError("settings-missing", names=missing)
    sentences = []
    for problem in problems:
        place = ".".join(str(part) for part in problem["loc"])
        sentences.append(f"{place}: {problem['msg']}")
    return UserError("settings", problems=sentences)
