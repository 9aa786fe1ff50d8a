// Finds every place that contains a text: output of processes, files, responses, arguments and environments.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type CommandResult, type Process, sluice } from '../support/process.ts'

export interface SecretSearch {
  /** Includes the output of a process, under this name. */
  watchProcess(name: string, process: Process): void
  /** Runs a command and includes its output and arguments. */
  run(
    name: string,
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
    input?: string
  ): Promise<CommandResult>
  /** Sends a request and includes its response with the headers. */
  request(
    method: string,
    url: string,
    body?: object,
    headers?: Readonly<Record<string, string>>
  ): Promise<ApiResponse>
  /** Includes all files and processes as they are now. */
  scan(dirs: Readonly<Record<string, string>>): void
  /** Returns every place that contains the text. */
  placesOf(text: string): readonly string[]
}

export interface ApiResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

export function openSecretSearch(): SecretSearch {
  const texts = new Map<string, string>()
  const add = (place: string, text: string): void =>
    void texts.set(place, `${texts.get(place) ?? ''}${text}\n`)
  const watched = new Map<string, Process>()

  return {
    watchProcess(name, process) {
      watched.set(name, process)
    },
    async run(name, args, env = {}, input = '') {
      const result = await sluice(args, env, input)
      add(`output of ${name}`, result.stdout + result.stderr)
      add(`arguments of ${name}`, args.join(' '))
      return result
    },
    async request(method, url, body, headers = {}) {
      const sent = body && { body: JSON.stringify(body) }
      const type = body && { 'content-type': 'application/json' }
      const reply = await fetch(url, { method, headers: { ...type, ...headers }, ...sent })
      const text = await reply.text()
      const headerText = [...reply.headers].map(([key, value]) => `${key}: ${value}`).join('\n')
      add(
        `response to ${method} ${new URL(url).pathname.replaceAll(/[0-9A-Z]{26}/g, ':id')}`,
        `${headerText}\n${text}`
      )
      return { status: reply.status, headers: reply.headers, body: text === '' ? {} : JSON.parse(text) }
    },
    scan(dirs) {
      for (const [name, dir] of Object.entries(dirs))
        for (const file of filesIn(dir))
          add(`file ${name}/${relative(dir, file)}`, readFileSync(file, 'latin1'))
      for (const [name, { pid }] of watched)
        for (const member of familyOf(pid)) {
          add(`arguments of ${name}`, procOf(member, 'cmdline'))
          add(`environment of ${name}`, procOf(member, 'environ'))
        }
    },
    placesOf(text) {
      for (const [name, process] of watched) texts.set(`output of ${name}`, process.output())
      return [...texts].filter(([, found]) => found.includes(text)).map(([place]) => place)
    }
  }
}

const filesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

/** Returns type and octal permissions of every file and folder in `dir`. */
export const modesIn = (dir: string): readonly string[] =>
  ['.', ...readdirSync(dir, { recursive: true, encoding: 'utf8' })].map(name => {
    const stat = statSync(join(dir, name))
    return `${stat.isDirectory() ? 'dir' : 'file'} ${(stat.mode & 0o777).toString(8)}`
  })

/** Returns a process and its descendants. */
function familyOf(pid: number): readonly number[] {
  const children = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(child => parentOf(child) === pid)
  return [pid, ...children.flatMap(familyOf)]
}

/** The fields follow the program's name in brackets, which may itself contain brackets. */
const parentOf = (pid: number): number => Number(procOf(pid, 'stat').split(')').at(-1)?.trim().split(' ')[1])

/** Returns '' if the process has ended. */
function procOf(pid: number, file: 'cmdline' | 'environ' | 'stat'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    return ''
  }
}
