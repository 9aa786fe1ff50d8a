// Maps errors of PostgreSQL to Faults. Messages never contain the URL of the store.
import { Fault, reasonOf, storeOutcomeUnknown, storeUnavailable, storeUnusable } from '../../base/errors.ts'

const details = { retry_after_secs: 2 }
const temporaryFault = (message: string, cause: unknown): Fault =>
  new Fault(storeUnavailable, message, { cause, details })

/** Returns the SQLSTATE of an error or its cause; null for a failed connection or a bug of ours. */
export function stateOf(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && /^[0-9A-Z]{5}$/.test(String(cause.code)) && 'severity' in cause)
      return String(cause.code)
  return null
}

/** True for serialization failures and deadlocks: a retry may succeed. */
export const isConflict = (error: unknown): boolean =>
  /^(40001|40P01)$/.test(stateOf(error) ?? '') || isUnprepared(error)

/** True if a pooler has switched to a connection without the prepared statement. */
export const isUnprepared = (error: unknown): boolean => /^(26000|42P05)$/.test(stateOf(error) ?? '')

/** True if the statement does not match the tables or their rows. */
export const isUnfit = (error: unknown): boolean => /^(22|23|42)/.test(stateOf(error) ?? '')

/** Shutdown, no connections or space left, read-only, or a missing user or database. */
const passing = /^(08|28|3D|53|57P|58)|^(25006|25P03|57014|55P03)$/
const lostCode = /^(E(?!RR_)[A-Z_]+|ERR_SOCKET\w*)$/ // of Node; our refusals have lower-case codes
const lost =
  /connection (terminated|ended)|connection error|client was closed|timeout (exceeded|expired)|read timeout/i
const isLostConnection = (error: unknown): boolean =>
  [errorCode(error), reasonOf(error)].some(text => lostCode.test(text) || lost.test(text))

/** Returns the error for the caller: 503 for temporary failures; others pass unchanged. */
export function faultOf(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Fault) return error
  const state = stateOf(error)
  const isPassing = state === null ? isLostConnection(error) : passing.test(state)
  return isPassing ? unavailable(error) : error
}

export const unavailable = (cause: unknown): Fault =>
  temporaryFault(`the store cannot be used now: ${reasonOf(cause)}; nothing was changed`, cause)

/** True if the state of the connection is unknown. */
export const isLost = (error: unknown): boolean => {
  const fault = faultOf(error)
  return fault instanceof Fault && [storeUnavailable, storeOutcomeUnknown].includes(fault.errorCode)
}

/** True if the database or the network has cut an open connection. */
export const isCut = (error: unknown): boolean =>
  stateOf(error)?.startsWith('57P') ??
  (/^(ECONNRESET|EPIPE)$/.test(errorCode(error)) || /terminated unexpectedly/.test(reasonOf(error)))

export const conflict = (cause: unknown): Fault =>
  temporaryFault('concurrent changes of the store conflicted with every attempt; try again', cause)

const unknown =
  'the connection to the store was lost while the change was committed: it is made, or not. ' +
  'Read the record; with an Idempotency-Key, send the request again'
/** Returns the fault of a commit without an answer. A retry with the same Idempotency-Key finds the outcome. */
export const unknownOutcome = (cause: unknown): Fault =>
  new Fault(storeOutcomeUnknown, unknown, { cause, details })

/** True if the server is unreachable, starting, stopping, or out of connections. */
const isUnreachable = (error: unknown): boolean =>
  stateOf(error) === null ? isLostConnection(error) : /^(08|53|57P)/.test(stateOf(error) ?? '')

/** Returns the reason and remedy for a failed start. Temporary failures do not have exit status 78. */
export function refusalOf(error: unknown, at: { host: string; user: string; database: string }): Fault {
  const state = stateOf(error) ?? ''
  const reason = reasonOf(error) || errorCode(error) // Node's error has no text if several addresses refused
  const isPassword = /^28/.test(state) || /password/i.test(reason)
  const remedy = isPassword
    ? `let pg_hba.conf admit ${at.user}, or give the password by SVC_STORE_PASSWORD, store_password_file or ~/.pgpass`
    : state === '3D000'
      ? `create it: create database ${at.database} owner ${at.user} encoding 'UTF8' template template0`
      : state !== ''
        ? 'see the log of PostgreSQL'
        : isUnreachable(error)
          ? `start PostgreSQL at ${at.host}, or correct store_url`
          : 'correct store_url, for TLS its sslmode and sslrootcert'
  return new Fault(
    isUnreachable(error) && !isPassword ? storeUnavailable : storeUnusable,
    `the database ${at.database} at ${at.host} cannot be opened: ${reason}; ${remedy}`,
    { cause: error }
  )
}

const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''
