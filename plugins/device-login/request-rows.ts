import type { Kernel } from '../../kernel/plugin.ts'
import type { SignIn } from '../auth/exports.ts'
import type { TokenGrants } from '../credentials/exports.ts'
import type { Act } from '../http/exports.ts'

export interface RequestDeps extends Pick<Kernel, 'store' | 'clock' | 'log'> {
  readonly act: Act
  readonly signIn: Pick<SignIn, 'count'>
  readonly tokenGrants: TokenGrants
}

export const requestSecs = 600

/** Expired requests without a credential that is to be revoked. */
export const unapprovedAt = (now: number) => ({ expiresAt: { $lte: now }, credentialId: null })
export const unfetchedAt = (now: number) => ({ expiresAt: { $lte: now }, credentialId: { $ne: null } })
export const presentAt = (now: number) => ({ expiresAt: { $gt: now } })
