// For server and agent: a process that is idle gives back what it has needed for its start, and for loads that are over.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { loadModule } from '../../native/load.ts'

interface Options {
  readonly log: Log
  readonly defer: (release: Release) => void
}

/** CPU time and memory of a process. */
export interface Usage {
  readonly cpuMs: number // over all threads
  readonly atMs: number // monotonic
  readonly heldBytes: number // resident
  readonly resources: number // above all connections: what one has held is free when it has gone, and resident as before
}

const checkMs = 15_000
const busyCpu = 0.02 // of one core
const grownBytes = 8 * 2 ** 20
const goneResources = 100 // connections of agents have held that much

/** By the time of the process, not of the clock service: the CPU time with which it is compared is real. */
export function giveBackWhenIdle({ log, defer }: Options): void {
  const giveBack = openGiveBack()
  const judge = openJudge(usage())
  const check = setInterval(() => {
    const before = usage()
    if (!judge.isDue(before)) return
    giveBack()
    const after = usage()
    judge.given(after)
    log.debug('memory.released', 'idle: released unused memory', {
      before_bytes: before.heldBytes,
      after_bytes: after.heldBytes,
      took_ms: Math.round(after.atMs - before.atMs)
    })
  }, checkMs).unref()
  defer(() => clearInterval(check))
}

/** Finds the first idle span after the start, and after each load that grew the process or ended with closed connections. */
export function openJudge(started: Usage) {
  let before = started
  let left: Pick<Usage, 'heldBytes' | 'resources'> = { heldBytes: 0, resources: 0 }
  let wasBusy = true
  return {
    isDue(now: Usage): boolean {
      const isBusy = now.cpuMs - before.cpuMs >= (now.atMs - before.atMs) * busyCpu
      before = now
      wasBusy ||= isBusy
      const hasGrown = now.heldBytes >= left.heldBytes + grownBytes
      return wasBusy && !isBusy && (hasGrown || now.resources <= left.resources - goneResources)
    },
    given(now: Usage): void {
      before = now
      left = now
      wasBusy = false
    }
  }
}

function usage(): Usage {
  const { user, system } = process.cpuUsage()
  return {
    cpuMs: (user + system) / 1000,
    atMs: performance.now(),
    heldBytes: process.memoryUsage.rss(),
    resources: process.getActiveResourcesInfo().length
  }
}

/** Without the addon, only JavaScript's memory is released. */
export function openGiveBack(): () => void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as NodeJS.GCFunction // which that flag has defined
  return () => {
    gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    const native = loadModule()
    if (native.ok) native.module.giveBackMemory()
  }
}
