// The data plane over Node's net, for any platform: the fallback where no native engine loads, and its reference.
import type { Engine, EngineEvent, EngineOptions, EngineRule, Resolved } from '../engine.ts'
import { snapshot } from './counters.ts'
import type { Ground } from './engine-context.ts'
import { check, fault } from './engine-fault.ts'
import { openMeters } from './meters/meter-chain.ts'
import { openDescriptors } from './net/descriptors.ts'
import { openOwnPorts } from './net/own-ports.ts'
import { openEntrances } from './tcp/listeners.ts'
import { openPeeks } from './tcp/peek-histogram.ts'
import { Gate } from './tcp/tcp-rule.ts'
import { UdpGate } from './udp/udp-rule.ts'

export function openPortableEngine({ bind, onEvents }: EngineOptions): Engine {
  const gates = new Map<number, Gate | UdpGate>() // open and draining
  const questions = new Map<number, (answer: Resolved) => void>()
  const { emit, flush } = openOutlet(onEvents)
  let lastToken = 0
  let stopping: Promise<void> | null = null

  const ground: Ground = {
    bind,
    ownPorts: openOwnPorts(bind),
    descriptors: openDescriptors(),
    meters: openMeters(meterId => emit({ kind: 'meter-empty', meterId })),
    peeks: openPeeks(),
    emit,
    ask: (ruleId, host) =>
      new Promise(resolve => {
        const token = ++lastToken
        questions.set(token, resolve)
        emit({ kind: 'resolve', token, ruleId, host })
      })
  }

  const tcp = { ...ground, entrances: openEntrances(ground) }
  const udp = { ...ground, ownPorts: openOwnPorts(bind) }

  const refuseWhenStopped = ({ from }: EngineRule) => {
    if (stopping) throw fault('ESTOPPED', `port ${from} is not opened: the engine has stopped`)
  }

  async function keep(gate: Gate | UdpGate): Promise<void> {
    await gate.ended
    gates.delete(gate.rule.id)
    emit({ kind: 'closed', counters: snapshot(gate.tally) })
  }

  async function cutAll(): Promise<void> {
    const all = [...gates.values()]
    for (const gate of all) gate.close(0)
    await Promise.all(all.map(gate => gate.ended))
    questions.clear()
    ground.meters.stop()
    flush()
  }

  return {
    async open(rule) {
      refuseWhenStopped(rule)
      if (gates.has(rule.id)) throw new TypeError(`engine rule ${rule.id} is open already`)
      check(rule)
      const gate = rule.protocol === 'udp' ? new UdpGate(rule, udp) : new Gate(rule, tcp)
      await gate.open()
      if (stopping) gate.close(0)
      refuseWhenStopped(rule)
      gates.set(rule.id, gate)
      void keep(gate)
    },
    async close(ruleId, drainMs) {
      gates.get(ruleId)?.close(drainMs)
    },
    setFilters(ruleId, filters) {
      gates.get(ruleId)?.filter(filters)
    },
    setMeter: ground.meters.set,
    setBudget(meterId, budget) {
      if (!stopping) ground.meters.budget(meterId, budget)
    },
    removeMeter: ground.meters.forget,
    resolved(token, answer) {
      questions.get(token)?.(answer)
      questions.delete(token)
    },
    sample: () => ({
      rules: [...gates.values()].map(({ tally }) => snapshot(tally)),
      meters: ground.meters.count(),
      peekDurations: ground.peeks.count(),
      eventsDropped: 0
    }),
    stop() {
      stopping ??= cutAll()
      return stopping
    }
  }
}

/** What happens in one turn goes out as one batch, never from within the call that caused it. */
function openOutlet(onEvents: EngineOptions['onEvents']) {
  let batch: EngineEvent[] = []
  const flush = () => {
    if (batch.length === 0) return
    const out = batch
    batch = []
    onEvents(out)
  }
  const emit = (event: EngineEvent) => {
    if (batch.push(event) === 1) queueMicrotask(flush)
  }
  return { emit, flush }
}
