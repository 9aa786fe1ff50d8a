import { Fault } from '../../kernel/base/errors.ts'

/** Returns the Fault with its subject before the message, or any other error unchanged. */
export const prefixFault = (what: string, error: unknown): unknown =>
  error instanceof Fault
    ? new Fault(error.errorCode, `${what}: ${error.message}`, {
        cause: error,
        ...(error.details && { details: error.details })
      })
    : error
