import { Fault } from '../../kernel/base/errors.ts'
import type { User } from '../../kernel/identity/entities.ts'
import { serviceAccount } from './codes.ts'

/** Throws `service_account` for a user that cannot sign in. */
export function refuseServiceAccount({ kind }: Pick<User, 'kind'>, userId: string): void {
  if (kind === 'service')
    throw new Fault(
      serviceAccount,
      `${userId} is a service account, which has no password and no session; issue a token for it`
    )
}
