import type { EntityManager } from '@mikro-orm/sql'
import type { Fault } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { endpointFault } from './endpoint-fault.ts'
import { Override } from './entities.ts'

export type Source = 'override' | 'seed' | 'loopback'

/** The endpoint for agents. Without an effective one, `source` is null and `fault` has the reason. */
export type Resolved = { readonly override: string | null } & (
  | { readonly effective: string; readonly source: Source; readonly fault: null }
  | { readonly effective: null; readonly source: null; readonly fault: Fault }
)

export interface Endpoint {
  resolve(em: EntityManager): Promise<Resolved>
  /** Returns why there is no effective endpoint. Unlike `resolve`, it works before the listener is open. */
  check(em: EntityManager): Promise<Fault | null>
  /** Throws if agents could not use the endpoint; null or '' clears the override. */
  setOverride(endpoint: string | null, em: EntityManager): Promise<Resolved>
}

const id = 'override'

export function openEndpoint({ control, clock }: Kernel): Endpoint {
  /** Fails closed: if an endpoint cannot be used, the next one is not tried. */
  async function choose(em: EntityManager) {
    const override = (await em.findOne(Override, { id }))?.endpoint ?? null
    const wanted = override ?? control.configuredEndpoint
    return { override, wanted, fault: wanted === null ? null : endpointFault(wanted, control.certificate) }
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
      const fault = endpointFault(endpoint, control.certificate)
      if (fault) throw fault
      await em.upsert(Override, { id, endpoint, updatedAt: clock.now() })
      return resolve(em)
    }
  }
}
