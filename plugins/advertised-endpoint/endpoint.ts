import type { EntityManager } from '@mikro-orm/sql'
import type { Fault } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Override } from './entities.ts'
import { judge } from './judge.ts'

export type Source = 'override' | 'seed' | 'loopback'

/** Where agents are sent. Without an effective endpoint there is no source, and the fault says why. */
export type Resolved = { readonly override: string | null } & (
  | { readonly effective: string; readonly source: Source; readonly fault: null }
  | { readonly effective: null; readonly source: null; readonly fault: Fault }
)

export interface Endpoint {
  resolve(em: EntityManager): Promise<Resolved>
  /** Why there is no effective endpoint; unlike `resolve`, for use before the listener is up, too. */
  check(em: EntityManager): Promise<Fault | null>
  /** Throws the fault of an endpoint that agents could not use; null or '' clears. */
  setOverride(endpoint: string | null, em: EntityManager): Promise<Resolved>
}

const id = 'override'

export function openEndpoint({ control, clock }: Kernel): Endpoint {
  /** Fail-closed: one that cannot be used never falls through to the next. */
  async function choose(em: EntityManager) {
    const override = (await em.findOne(Override, { id }))?.endpoint ?? null
    const wanted = override ?? control.configuredEndpoint
    return { override, wanted, fault: wanted === null ? null : judge(wanted, control.certificate) }
  }

  async function resolve(em: EntityManager): Promise<Resolved> {
    const { override, wanted, fault } = await choose(em)
    if (fault) return { override, effective: null, source: null, fault }
    if (wanted === null)
      return { override, effective: `127.0.0.1:${control.port()}`, source: 'loopback', fault }
    return { override, effective: wanted, source: override === null ? 'seed' : 'override', fault }
  }

  return {
    resolve,
    check: async em => (await choose(em)).fault,
    async setOverride(endpoint, em) {
      if (endpoint === null || endpoint === '') {
        await em.nativeDelete(Override, { id })
        return resolve(em)
      }
      const fault = judge(endpoint, control.certificate)
      if (fault) throw fault
      await em.upsert(Override, { id, endpoint, updatedAt: clock.now() })
      return resolve(em)
    }
  }
}
