// Where lines go. Nothing here waits on the thread of the agent: a slow disk or reader makes a write late, and no more.
import { once } from 'node:events'
import { write as writeTo } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { promisify } from 'node:util'

/** One write at a time. Rejects with an Error that says what is wrong; a later `prepare` tries anew. */
export interface Destination {
  /** Resolves when a write may follow. */
  prepare(): Promise<void>
  /** Writes whole lines. After a rejection the reader has got some of them, or none. */
  write(lines: readonly string[]): Promise<void>
  /** The next `prepare` opens it anew. */
  reopen(): void
  close(): Promise<void>
}

/** `to`: see the configuration. */
export function openDestination(to: string, maxFileBytes: number): Destination {
  if (to.startsWith('file:')) return openFile(to.slice('file:'.length), maxFileBytes)
  if (to.startsWith('unix:')) return openSocket(to.slice('unix:'.length))
  return openStandardOutput()
}

const fileMode = 0o640

/** Appends to the file. One that was renamed, deleted or truncated since is noticed, with or without a signal. */
function openFile(path: string, maxBytes: number): Destination {
  let handle: FileHandle | null = null
  let bytes = 0
  let isStale = false

  async function close(): Promise<void> {
    const closing = handle
    handle = null
    await closing?.close()
  }

  return {
    async prepare() {
      const found = await stat(path).catch(() => null)
      if (found && !found.isFile()) throw new Error(`${path} is not a file`)
      if (handle && (isStale || (await handle.stat()).ino !== found?.ino)) await close()
      isStale = false
      handle ??= await open(path, 'a', fileMode)
      if (!found) await handle.chmod(fileMode) // whatever the umask of the agent
      bytes = (await handle.stat()).size
      if (bytes >= maxBytes)
        throw new Error(`${path} has ${bytes} bytes, as max_file_bytes allows; rotate it`)
    },
    async write(lines) {
      try {
        await handle?.appendFile(lines.join(''))
      } catch (error) {
        await handle?.truncate(bytes).catch(() => {}) // half a line would spoil the next one; a full disk may refuse this, too
        throw error
      }
    },
    reopen() {
      isStale = true
    },
    close
  }
}

function openSocket(path: string): Destination {
  let socket: Socket | null = null

  return {
    async prepare() {
      if (socket?.destroyed) socket = null
      if (socket) return
      const connecting = connect(path)
      connecting.on('error', () => {}) // whoever waits for it hears of it
      await once(connecting, 'connect')
      connecting.resume() // it has nothing to say
      connecting.unref()
      socket = connecting
    },
    async write(lines) {
      const writing = socket
      if (!writing) throw new Error(`${path} is closed`)
      await new Promise<void>((resolve, reject) => {
        const onClose = (): void => reject(new Error(`the reader of ${path} has closed it`))
        writing.once('close', onClose)
        writing.write(lines.join(''), error => {
          writing.off('close', onClose)
          if (error) reject(error)
          else resolve()
        })
      })
    },
    reopen: () => {},
    async close() {
      socket?.destroy()
    }
  }
}

const writeSome = promisify(writeTo)
const standardOutput = 1

/** Line by line: a pipe takes up to 4,096 bytes whole, whoever else writes to it. */
function openStandardOutput(): Destination {
  return {
    prepare: async () => {},
    async write(lines) {
      for (const line of lines) {
        const bytes = Buffer.from(line)
        for (let at = 0; at < bytes.length; ) at += (await writeSome(standardOutput, bytes, at)).bytesWritten
      }
    },
    reopen: () => {},
    close: async () => {}
  }
}
