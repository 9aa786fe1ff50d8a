import { authenticatorSlot, type RequestInfo } from '../../../kernel/http/principal.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { MountedPlugins } from '../../http/exports.ts'
import type { Sessions } from './sessions.ts'

interface Services extends Pick<Kernel, 'store'> {
  readonly sessions: Pick<Sessions, 'findCurrent'>
  readonly mountedPlugins: MountedPlugins
}

/** True for a request with a valid session. Without one null, if another plugin may know the caller: only a call can tell. */
export async function isSignedIn(
  { store, sessions, mountedPlugins }: Services,
  requestInfo: RequestInfo
): Promise<boolean | null> {
  if (await store.read(em => sessions.findCurrent(em, { requestInfo }))) return true
  const isOther = mountedPlugins
    .all()
    .some(({ plugin: { name, fills = [] } }) => name !== 'auth' && fills.some(isAuthenticator))
  return isOther ? null : false
}

const isAuthenticator = ({ slot: { id } }: { readonly slot: { readonly id: string } }): boolean =>
  id === authenticatorSlot.id
