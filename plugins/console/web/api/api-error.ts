/** A field of the body, such as 'targets.0.port', and the keyword of its schema that it violates. */
export interface WrongField {
  readonly field: string
  readonly reason: string
  readonly message?: string // of a check in the browser
}

/** '/targets/0/port' is 'targets.0.port'. */
const toPath = (pointer: string): string => pointer.replace(/^\//, '').replaceAll('/', '.')

/** An error reply of the server, or no reply at all. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number // 0: no reply
  readonly code: string
  readonly details: Readonly<Record<string, unknown>>
  readonly requestId: string | null
  readonly retryAfterSecs: number | null

  constructor(
    message: string,
    {
      status,
      code,
      details = {},
      requestId = null,
      retryAfterSecs = null
    }: Omit<Partial<ApiError>, 'message'> & Pick<ApiError, 'status' | 'code'>
  ) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
    this.requestId = requestId
    this.retryAfterSecs = retryAfterSecs
  }

  /** The first wrong field of the body, such as 'targets.0.port'; null if the server names none. */
  get field(): string | null {
    const { field, path } = this.details
    const named = field ?? path
    return typeof named === 'string' ? toPath(named) : null
  }

  /** All wrong fields of the body. */
  get wrongFields(): readonly WrongField[] {
    const { field, details } = this
    const { errors, reason } = details
    if (Array.isArray(errors))
      return (errors as readonly WrongField[]).map(one => ({ ...one, field: toPath(one.field) }))
    return field === null ? [] : [{ field, reason: String(reason ?? '') }]
  }

  /** A retry may succeed: the server is unreachable or busy. */
  get isTransient(): boolean {
    return [0, 408, 429, 502, 503].includes(this.status)
  }
}

export const toApiError = (thrown: unknown): ApiError =>
  thrown instanceof ApiError
    ? thrown
    : new ApiError(thrown instanceof Error ? thrown.message : String(thrown), {
        status: -1,
        code: 'internal'
      })

/** Reads an error reply. A reply of a proxy in front of the server has no code: 'unknown'. */
export async function readError(response: Response): Promise<ApiError> {
  const { status, headers } = response
  const retry = Number(headers.get('retry-after') ?? Number.NaN)
  const more = {
    requestId: headers.get('x-request-id'),
    retryAfterSecs: Number.isFinite(retry) ? retry : null
  }
  const body: unknown = await response.json().catch(() => null)
  const { error } = (body ?? {}) as { error?: { code?: string; message?: string; details?: object } }
  if (typeof error?.code !== 'string')
    return new ApiError(`${status} ${response.statusText}`, { status, code: 'unknown', ...more })
  const details = (error.details ?? {}) as Record<string, unknown>
  return new ApiError(error.message ?? error.code, { status, code: error.code, details, ...more })
}

/** True if no plugin of the server has the route. */
export const isMissingRoute = (thrown: Error | null): boolean =>
  thrown instanceof ApiError && thrown.status === 404 && thrown.code === 'not_found'
