// A supervisor that receives notifications on a real socket. Node cannot: it has no datagram sockets for Unix paths.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { killChild, spawnChild } from '../../../test/support/child-process.ts'

const source = join(import.meta.dirname, '../../../native/test/receive-notifications.c')

export interface SupervisorSocket {
  readonly address: string
  /** Returns the next datagram, its lines joined by spaces. */
  next(): Promise<string>
  /** Skips datagrams that do not match. */
  until(pattern: RegExp): Promise<string>
  /** Starts to read, if it was opened as 'paused'. */
  read(): void
  close(): Promise<void>
}

/** The address of a socket in a new folder that other users can enter. */
export function socketPath(t: Pick<Test, 'teardown'>): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-notify-')) // short: socket paths are limited
  chmodSync(dir, 0o755)
  t.teardown(() => rmSync(dir, { recursive: true }))
  return join(dir, 'notify')
}

export async function supervisorSocket(
  t: Pick<Test, 'teardown'>,
  {
    address = socketPath(t),
    mode = 'reading'
  }: { readonly address?: string; readonly mode?: 'reading' | 'paused' } = {}
): Promise<SupervisorSocket> {
  const program = `${socketPath(t)}-receiver`
  execFileSync('cc', ['-O1', '-Wall', '-o', program, source])
  const child = spawnChild(program, mode === 'paused' ? [address, mode] : [address], {
    stdio: ['pipe', 'pipe', 'inherit']
  })
  t.teardown(() => killChild(child))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next()
    if (done) throw new Error('the receiver has ended')
    return value
  }
  await next() // bound
  return {
    address,
    next,
    async until(pattern) {
      for (;;) {
        const text = await next()
        if (pattern.test(text)) return text
      }
    },
    read: () => child.stdin.end(),
    close: () => killChild(child)
  }
}
