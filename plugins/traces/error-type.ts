import { Fault } from '../../kernel/base/errors.ts'
import { Refused } from '../../kernel/wire/message.ts'

/** Returns the code of an error, as `error.type` of OpenTelemetry. Messages of errors can have addresses, and are left out. */
export function errorTypeOf(error: unknown): string {
  if (error instanceof Fault) return error.errorCode.code
  if (error instanceof Refused) return error.code
  return error instanceof Error ? error.name : 'unknown'
}
