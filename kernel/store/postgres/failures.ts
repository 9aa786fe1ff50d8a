// What an error of PostgreSQL means for the caller. No message here has the URL of the store.
import { Fault, reasonOf, storeOutcomeUnknown, storeUnavailable, storeUnusable } from '../../base/errors.ts'

const details = { retry_after_secs: 2 }
const away = (message: string, cause: unknown): Fault =>
  new Fault(storeUnavailable, message, { cause, details })

/** The SQLSTATE of an error of the database, or of one that it has caused; null: the connection failed, or it is a bug of ours. */
export function stateOf(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && /^[0-9A-Z]{5}$/.test(String(cause.code)) && 'severity' in cause)
      return String(cause.code)
  return null
}

/** Serialization failures and deadlocks: the same change may well succeed when it is made again. */
export const isConflict = (error: unknown): boolean =>
  /^(40001|40P01)$/.test(stateOf(error) ?? '') || isUnprepared(error)

/** A pooler has taken another connection than the one that has prepared the statement. */
export const isUnprepared = (error: unknown): boolean => /^(26000|42P05)$/.test(stateOf(error) ?? '')

/** The statement does not fit the tables, or their rows. */
export const isUnfit = (error: unknown): boolean => /^(22|23|42)/.test(stateOf(error) ?? '')

/** The server stops, takes no connections, has no room, or refuses writes; or the user or the database is gone. */
const passing = /^(08|28|3D|53|57P|58)|^(25006|25P03|57014|55P03)$/
const lostCode = /^(E(?!RR_)[A-Z_]+|ERR_SOCKET\w*)$/ // of Node; refusals have codes in small letters
const lost =
  /connection (terminated|ended)|connection error|client was closed|timeout (exceeded|expired)|read timeout/i
const isLostConnection = (error: unknown): boolean =>
  [errorCode(error), reasonOf(error)].some(text => lostCode.test(text) || lost.test(text))

/** Returns the error that the caller gets: 503 for what passes, and any other as it is. */
export function faultOf(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Fault) return error
  const state = stateOf(error)
  const isPassing = state === null ? isLostConnection(error) : passing.test(state)
  return isPassing ? unavailable(error) : error
}

export const unavailable = (cause: unknown): Fault =>
  away(`the store cannot be used now: ${reasonOf(cause)}; nothing was changed`, cause)

/** True if the connection may be in a state that nobody knows. */
export const isLost = (error: unknown): boolean => {
  const fault = faultOf(error)
  return fault instanceof Fault && [storeUnavailable, storeOutcomeUnknown].includes(fault.errorCode)
}

/** True if the database, or the way to it, has ended a connection that was open. */
export const isCut = (error: unknown): boolean =>
  stateOf(error)?.startsWith('57P') ??
  (/^(ECONNRESET|EPIPE)$/.test(errorCode(error)) || /terminated unexpectedly/.test(reasonOf(error)))

export const conflict = (cause: unknown): Fault =>
  away('other changes of the store came in between, again and again; try again', cause)

const unknown =
  'the connection to the store was lost while the change was committed: it is made, or not. ' +
  'Read the record; with an Idempotency-Key, send the request again'
/** Of a commit without an answer. A repeat with the same Idempotency-Key finds out. */
export const unknownOutcome = (cause: unknown): Fault =>
  new Fault(storeOutcomeUnknown, unknown, { cause, details })

/** What waiting mends: the server cannot be reached, is starting or stopping, or has no room for a connection. */
const isAway = (error: unknown): boolean =>
  stateOf(error) === null ? isLostConnection(error) : /^(08|53|57P)/.test(stateOf(error) ?? '')

/** Returns why a server does not start on this database, with the remedy. What waiting mends has no exit status 78. */
export function refusalOf(error: unknown, at: { host: string; user: string; database: string }): Fault {
  const state = stateOf(error) ?? ''
  const reason = reasonOf(error) || errorCode(error) // of several addresses that refused, Node has no text
  const isPassword = /^28/.test(state) || /password/i.test(reason)
  const remedy = isPassword
    ? `let pg_hba.conf admit ${at.user}, or give the password by SVC_STORE_PASSWORD, store_password_file or ~/.pgpass`
    : state === '3D000'
      ? `create it: create database ${at.database} owner ${at.user} encoding 'UTF8' template template0`
      : state !== ''
        ? 'see the log of PostgreSQL'
        : isAway(error)
          ? `start PostgreSQL at ${at.host}, or correct store_url`
          : 'correct store_url, for TLS its sslmode and sslrootcert'
  return new Fault(
    isAway(error) && !isPassword ? storeUnavailable : storeUnusable,
    `the database ${at.database} at ${at.host} cannot be opened: ${reason}; ${remedy}`,
    { cause: error }
  )
}

const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''
