/** One row of the error table: code, HTTP status, CLI exit. */
export interface ErrorCode {
  readonly code: string
  readonly http: number
  readonly exit: number
}

/** An error that a caller can cause. Our own bugs are TypeErrors. */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly errorCode: ErrorCode
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(
    row: ErrorCode,
    message: string,
    options?: ErrorOptions & { details?: Record<string, unknown> }
  ) {
    super(message, options)
    this.errorCode = row
    this.details = options?.details
  }
}

/** Returns the stack of an error for the log, or the text of any other thrown value. */
export const stackOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const defineCode = (code: string, http: number, exit: number): ErrorCode => ({ code, http, exit })

// The kernel's codes. Plugins list theirs in their manifests; `pluginProblems` finds duplicates.
export const internal = defineCode('internal', 500, 1)
export const invalidSchema = defineCode('validation.schema', 400, 3)
export const unauthenticated = defineCode('unauthenticated', 401, 4)
export const userDisabled = defineCode('user_disabled', 401, 4)
export const roleRequired = defineCode('role_required', 403, 5)
export const invalidTimeRange = defineCode('invalid_time_range', 400, 3)
export const notOwner = defineCode('not_owner', 403, 5)
export const notFound = defineCode('not_found', 404, 8)
export const limitReached = defineCode('limit_reached', 422, 3)
export const userNotFound = defineCode('user_not_found', 404, 8)
export const clientNotFound = defineCode('client_not_found', 404, 8)
export const rateLimited = defineCode('rate_limited', 429, 6)
export const storeUnavailable = defineCode('store_unavailable', 503, 6)
export const storeOutcomeUnknown = defineCode('store_outcome_unknown', 503, 6)
export const ackTimeout = defineCode('ack_timeout', 504, 7)

// Sent on the control stream, without the HTTP status.
export const tokenRevoked = defineCode('token_revoked', 401, 4)
export const tokenUnknown = defineCode('token_unknown', 401, 4)
export const serverPinMismatch = defineCode('server_pin_mismatch', 401, 4)

// For the start and the command line.
export const wrongUsage = defineCode('usage', 400, 2)
export const serverUnreachable = defineCode('server_unreachable', 503, 69)
export const agentNotRunning = defineCode('agent_not_running', 503, 69)
export const storeInUse = defineCode('startup.store_in_use', 500, 75)
export const schemaTooNew = defineCode('startup.schema_version_too_new', 500, 78)
export const unsupportedFilesystem = defineCode('startup.unsupported_filesystem', 500, 78)
export const startupInvalid = defineCode('startup.config_invalid', 500, 78)
export const listenFailed = defineCode('startup.listen_failed', 500, 78)
export const dataDirUnusable = defineCode('startup.data_dir_unusable', 500, 78)
export const storeUnusable = defineCode('startup.store_unusable', 500, 78)
export const tlsInvalid = defineCode('startup.tls_invalid', 500, 78)
export const insecurePermissions = defineCode('startup.insecure_permissions', 500, 78)
export const pluginFailed = defineCode('startup.plugin_failed', 500, 78)
