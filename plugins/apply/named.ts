import { Fault } from '../../kernel/base/errors.ts'

/** The same error, with what it is about before its message. */
export const named = (what: string, error: unknown): unknown =>
  error instanceof Fault
    ? new Fault(error.errorCode, `${what}: ${error.message}`, {
        cause: error,
        ...(error.details && { details: error.details })
      })
    : error
