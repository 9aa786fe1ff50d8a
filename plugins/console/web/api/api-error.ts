/** What the server refused, or that it was not reached. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number // 0: no server answered
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

  /** The field of the body that is wrong, such as 'targets.0.port'; null where the server names none. */
  get field(): string | null {
    const { field, path } = this.details
    const named = field ?? path
    return typeof named === 'string' ? named.replace(/^\//, '').replaceAll('/', '.') : null
  }

  /** A repeat may succeed: the server is away or busy. */
  get isPassing(): boolean {
    return [0, 408, 429, 502, 503].includes(this.status)
  }
}

export const errorOf = (thrown: unknown): ApiError =>
  thrown instanceof ApiError
    ? thrown
    : new ApiError(thrown instanceof Error ? thrown.message : String(thrown), {
        status: -1,
        code: 'internal'
      })

/** Reads the envelope of an error; a proxy in front may have answered with something else. */
export async function errorFrom(response: Response): Promise<ApiError> {
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
