import type { EntityManager } from '@mikro-orm/sql'
import * as wire from '../../agent/wire/enrollment.ts'
import type { ErrorCode } from '../../kernel/base/errors.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { Endpoint } from '../advertised-endpoint/exports.ts'

export function refuse({ code }: ErrorCode, message: string): never {
  throw new Refused(code, message)
}

/** The same for all codes and keys that must not be told apart. */
export const refuseUnknown = (): never =>
  refuse(wire.enrollmentInvalid, 'the code is unknown, was cancelled, or was replaced; ask for a new one')

export const refuseUsedToken = (): never =>
  refuse(wire.enrollmentInvalid, 'the token of the agent was used before; enroll with a new one')

/** Returns the endpoint for the bundle of an agent. */
export async function requireEndpoint(endpoint: Endpoint, em: EntityManager): Promise<string> {
  const { effective, fault } = await endpoint.resolve(em)
  return fault
    ? refuse(wire.failedPrecondition, `the server has no endpoint for its agents: ${fault.message}`)
    : effective
}
