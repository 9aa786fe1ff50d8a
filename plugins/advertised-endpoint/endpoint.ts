import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { endpointsIn, type LiveRotation } from '../certificate/exports.ts'
import { endpointFault, endpointInvalid, endpointNotInCertSan, hostOf } from './endpoint-fault.ts'
import { Override } from './entities.ts'

type Source = 'override' | 'seed' | 'loopback'

/** The endpoints for agents; `effective` is the first one, for enrollment. Without any, `fault` has the reason. */
export type Resolved = { readonly override: string | null; readonly endpoints: readonly string[] } & (
  | { readonly effective: string; readonly source: Source; readonly fault: null }
  | { readonly effective: null; readonly source: null; readonly fault: Fault }
)

export interface Endpoint {
  resolve(em: EntityManager): Promise<Resolved>
  /** Returns the endpoints to announce to agents: empty for the loopback endpoint, null if one is unusable. */
  announced(em?: EntityManager): Promise<readonly string[] | null>
  /** Returns why there is no effective endpoint. Unlike `resolve`, it works before the listener is open. */
  check(em: EntityManager): Promise<Fault | null>
  /**
   * Replaces the certificate if it does not cover one of the endpoints and nobody pins it. Throws Fault if agents could not
   * use one of them. An empty list clears the override.
   */
  setOverride(endpoints: readonly string[], em: EntityManager): Promise<void>
}

const id = 'override'
const maxLength = 255 // of all endpoints of an override, joined by commas

interface Deps extends Kernel {
  readonly liveRotation: LiveRotation
}

export function openEndpoint({ control, clock, store, liveRotation }: Deps): Endpoint {
  const faultsOf = (endpoints: readonly string[]): Fault[] =>
    endpoints.map(endpoint => endpointFault(endpoint, control.certificate)).filter(fault => fault !== null)

  /** Fails closed: if an endpoint is unusable, does not try the next source. */
  async function choose(em: EntityManager) {
    const override = (await em.findOne(Override, { id }))?.endpoint ?? null
    const wanted = endpointsIn(override ?? control.configuredEndpoint ?? [])
    return { override, wanted, fault: faultsOf(wanted)[0] ?? null }
  }

  async function resolve(em: EntityManager): Promise<Resolved> {
    const { override, wanted, fault } = await choose(em)
    if (fault) return { override, endpoints: [], effective: null, source: null, fault }
    const [first] = wanted
    if (first === undefined) {
      const effective = `127.0.0.1:${control.port()}`
      return { override, endpoints: [effective], effective, source: 'loopback', fault }
    }
    const source = override === null ? 'seed' : 'override'
    return { override, endpoints: wanted, effective: first, source, fault }
  }

  const announced = store.remembered([Override.meta.tableName], async (_, em) => {
    const { wanted, fault } = await choose(em)
    return fault ? null : wanted
  })

  return {
    resolve,
    announced: em => announced('', em),
    check: async em => (await choose(em)).fault,
    async setOverride(endpoints, em) {
      if (endpoints.length === 0) {
        await em.nativeDelete(Override, { id })
        return
      }
      const endpoint = [...new Set(endpoints)].join(',')
      if (endpoint.length > maxLength)
        throw new Fault(
          endpointInvalid,
          `the endpoints have ${endpoint.length} characters, the maximum is ${maxLength}; give fewer`
        )
      const faults = faultsOf(endpoints)
      const fault = faults.find(({ errorCode }) => errorCode !== endpointNotInCertSan) ?? faults[0]
      const isUncovered = fault?.errorCode === endpointNotInCertSan
      if (fault && !(isUncovered && (await liveRotation.cover(endpoints.map(hostOf), em)))) throw fault
      await em.upsert(Override, { id, endpoint, updatedAt: clock.now() })
    }
  }
}
