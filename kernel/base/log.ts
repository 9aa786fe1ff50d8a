/** Writes one line per event. Never pass secrets in `fields`: nothing is redacted. */
export interface Log {
  debug(event: string, message: string, fields?: object): void
  info(event: string, message: string, fields?: object): void
  warn(event: string, message: string, fields?: object): void
  error(event: string, message: string, fields?: object): void
}

/** Control and bidirectional characters. */
export const controlChars = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

/** Escapes control characters, so that logged names cannot manipulate a terminal. */
export const escapeControlChars = (text: string): string =>
  text.replaceAll(
    new RegExp(controlChars, 'gu'),
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  )
