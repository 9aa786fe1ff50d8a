// The parts of rules at this client, as exit or relay: it admits requests and knows the live connections.
import type { AgentDial, Filter } from '../../../agent/plugin.ts'
import type { Clock } from '../../../kernel/base/clock.ts'
import type { ExitPart } from '../wire.ts'
import type { Exits, ExitTarget, Live } from './far-requests.ts'
import type { AgentLink } from './link.ts'
import type { Refusal } from './request-open.ts'
import type { Open } from './transport/frame-bodies.ts'
import { flag } from './transport/frames.ts'

interface Options {
  readonly clock: Clock
  readonly dial: AgentDial
  /** Returns false if this agent does not serve the entry. */
  readonly allows: (entryId: string, entryName: string) => boolean
  /** Reserves a descriptor for a link connection that carries a client connection of the owner; null: none is left. */
  readonly reserve: (owner: string) => (() => void) | null
  /** Returns the link ports of this agent, which no target may be. */
  readonly loopPorts: () => readonly number[]
  /** Returns the link to the next client of a path. */
  readonly linkTo: (peerId: string) => AgentLink | undefined
}

type Target = ExitPart['targets'][number]

type Allowed = NonNullable<ExitPart['allow']>['matches'][number]

/** A part with its filters, which the agent compiles once for each object. */
interface Part extends ExitPart {
  readonly filters: readonly Filter[]
}

const toPart = (part: ExitPart): Part => {
  const { allow } = part
  const filters = allow ? [{ allow: allow.matches.map(toMatch), deny: [], refusal: 'target_denied' }] : []
  return { ...part, filters }
}

const toMatch = ({ port_from: from, port_to: to, ...address }: Allowed) => ({
  ...address,
  ...(from !== undefined && to !== undefined && { ports: [from, to] as const })
})

const refused = (reason: string): Refusal => ({ reason, isRefusal: true })

export class ExitParts implements Exits {
  readonly #options: Options
  readonly #parts = new Map<string, Part>() // by rule id
  readonly #live = new Map<string, Set<Live>>() // by rule id; none is empty
  readonly #drained = new Map<string, PromiseWithResolvers<void>>() // of withdrawn parts, by rule id

  constructor(options: Options) {
    this.#options = options
  }

  /** Puts a part in force for new connections; live ones continue. */
  set(ruleId: string, part: ExitPart): void {
    this.#parts.set(ruleId, toPart(part))
  }

  part(ruleId: string): Part | undefined {
    return this.#parts.get(ruleId)
  }

  /** Resets the connections of a rule on 'cut'. The result settles when the last one has ended. */
  async remove(ruleId: string, removal: 'drain' | 'cut'): Promise<void> {
    this.#parts.delete(ruleId)
    const live = this.#live.get(ruleId)
    if (!live) return
    const drained = this.#drained.get(ruleId) ?? Promise.withResolvers<void>()
    this.#drained.set(ruleId, drained)
    if (removal === 'cut') for (const one of [...live]) one.reset()
    await drained.promise
  }

  track(ruleId: string, live: Live): () => void {
    const { reserve } = this.#options
    const release = reserve(this.#parts.get(ruleId)?.owner ?? '') ?? (() => {})
    const all = this.#live.get(ruleId) ?? new Set()
    this.#live.set(ruleId, all.add(live))
    return () => {
      release()
      if (!all.delete(live) || all.size > 0) return
      this.#live.delete(ruleId)
      this.#drained.get(ruleId)?.resolve()
      this.#drained.delete(ruleId)
    }
  }

  async dial(
    open: Open,
    peerId: string,
    isProbe: boolean,
    signal: AbortSignal
  ): Promise<ExitTarget | Refusal> {
    const part = this.part(open.ruleId)
    const target = part?.targets.find(each => each.key === open.key && each.previous === peerId)
    if (!part || !target || open.offset >= part.ports) return refused('rule_unknown')
    const { allows, reserve } = this.#options
    if (!allows(part.entry_id, part.entry_name)) return refused('denied_by_exit')
    const release = reserve(part.owner)
    if (!release) return refused('descriptors')
    try {
      return target.next === undefined
        ? await this.#dialTarget(part, target, open, signal)
        : await this.#dialNext(target.next, part.owner, open, isProbe, signal)
    } finally {
      release()
    }
  }

  async #dialTarget(
    { owner, prefer_ipv6: preferIpv6, filters }: Part,
    { host, port: first }: Target,
    { offset }: Open,
    signal: AbortSignal
  ): Promise<ExitTarget | Refusal> {
    if (host === undefined || first === undefined) return refused('rule_unknown')
    const port = first + offset
    const loopPorts = this.#options.loopPorts()
    const dialed = await this.#options.dial({ host, port }, { owner, preferIpv6, filters, loopPorts, signal })
    if ('failure' in dialed) {
      const isLate = dialed.failure === 'canceled'
      return isLate
        ? { reason: 'timeout', isRefusal: false }
        : { reason: dialed.failure, isRefusal: dialed.isRefusal }
    }
    const { socket, address, dnsMs, connectMs } = dialed
    return { socket, opened: { address, port, dnsMs, connectMs } }
  }

  /** Asks the next client. Its answer must come in time to be passed on. */
  async #dialNext(
    next: string,
    owner: string,
    open: Open,
    isProbe: boolean,
    signal: AbortSignal
  ): Promise<ExitTarget | Refusal> {
    const link = this.#options.linkTo(next)
    if (!link) return refused('link_down')
    const flags = isProbe ? flag.probe : 0
    const budgetMs = Math.max(0, open.budgetMs - link.rttMs)
    const outcome = await link.open({ ...open, budgetMs }, { owner, flags, signal })
    if ('reason' in outcome) return outcome
    const { connection, opened } = outcome
    return {
      next: { connection, counts: link.counts },
      opened,
      giveBack: isReusable => link.giveBack(connection, isReusable)
    }
  }
}
