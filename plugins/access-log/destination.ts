// Destinations of lines. All writes are asynchronous: a slow disk or reader delays only the log.
import { once } from 'node:events'
import { write as writeTo } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { promisify } from 'node:util'

/** Allows one write at a time. Rejects with an Error that says what is wrong; a later `prepare` retries. */
export interface Destination {
  /** Resolves when the destination is ready for a write. */
  prepare(): Promise<void>
  /** Writes whole lines. After a rejection the reader may have some of them. */
  write(lines: readonly string[]): Promise<void>
  /** Makes the next `prepare` open the destination again. */
  reopen(): void
  close(): Promise<void>
}

/** `to` is the configuration key. */
export function openDestination(to: string, maxFileBytes: number): Destination {
  if (to.startsWith('file:')) return openFile(to.slice('file:'.length), maxFileBytes)
  if (to.startsWith('unix:')) return openSocket(to.slice('unix:'.length))
  return openStandardOutput()
}

const fileMode = 0o640

/** Appends to the file. `prepare` notices a renamed, deleted or truncated file, even without a signal. */
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
        await handle?.truncate(bytes).catch(() => {}) // half a line would corrupt the next one; a full disk may refuse this too
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
      connecting.on('error', () => {}) // `once` below rejects with it
      await once(connecting, 'connect')
      connecting.resume() // discards input
      connecting.unref()
      socket = connecting
    },
    async write(lines) {
      const writing = socket
      if (!writing) throw new Error(`${path} is closed`)
      await new Promise<void>((resolve, reject) => {
        const onClose = (): void => reject(new Error(`the reader closed ${path}`))
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

/** Writes line by line, because a pipe takes up to 4,096 bytes atomically. */
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
