// Shares the probes that run at once among the owners of rules: owners take turns.

const maxRunning = 32 // half of the descriptors that the agent keeps spare

/** A probe of one rule. */
interface QueuedProbe {
  readonly owner: string
  /** True if the last probe got no answer. Such probes hold their place for seconds: they start last, and take few places. */
  readonly isSlow: boolean
  /** Never rejects. */
  readonly run: () => Promise<void>
}

interface Line {
  running: number
  readonly waiting: QueuedProbe[]
  readonly slow: QueuedProbe[]
}

export interface ProbeQueue {
  /** Runs the probe when it is the owner's turn. A rule waits at most once, so the number of rules bounds the queue. */
  add(probe: QueuedProbe): void
  /** Forgets the probes that wait. */
  clear(): void
  waitingCount(): number
}

export function openProbeQueue(): ProbeQueue {
  const lines = new Map<string, Line>() // by owner; the one served longest ago is first
  let running = 0

  /** An owner takes at most as many places as it leaves free. Slow probes leave four times as many. */
  function next(): QueuedProbe | undefined {
    const free = maxRunning - running
    for (const line of lines.values()) {
      if (line.waiting.length > 0 && line.running < free) return line.waiting.shift()
      if (line.slow.length > 0 && line.running < free / 4) return line.slow.shift()
    }
    return undefined
  }

  async function start(probe: QueuedProbe): Promise<void> {
    const { owner } = probe
    const line = lineOf(owner)
    lines.delete(owner) // to the end of the order
    lines.set(owner, line)
    line.running++
    running++
    await probe.run()
    line.running--
    running--
    if (line.running + line.waiting.length + line.slow.length === 0) lines.delete(owner)
    startWaiting()
  }

  function startWaiting(): void {
    for (let probe = next(); probe; probe = next()) void start(probe)
  }

  const lineOf = (owner: string): Line => {
    const line = lines.get(owner) ?? { running: 0, waiting: [], slow: [] }
    lines.set(owner, line)
    return line
  }

  return {
    add(probe) {
      lineOf(probe.owner)[probe.isSlow ? 'slow' : 'waiting'].push(probe)
      startWaiting()
    },
    clear() {
      for (const [owner, line] of lines) {
        line.waiting.length = 0
        line.slow.length = 0
        if (line.running === 0) lines.delete(owner)
      }
    },
    waitingCount: () =>
      lines.values().reduce((sum, { waiting, slow }) => sum + waiting.length + slow.length, 0)
  }
}
