// Runs the listings of docs/CLUSTER.md as printed, except for paths: each host of the page is a folder that contains what
// the Debian packages would install there.
import { execFile, execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'

const root = join(import.meta.dirname, '..', '..', '..')
const page = readFileSync(join(root, 'docs/CLUSTER.md'), 'utf8')
const folders = /(?<![\w.-])\/(?=(root|etc|var)\/)/g // of a host

/** Returns a listing of the page: a file that is published or run. */
export function shown(t: Test, file: string): string {
  const text = readFileSync(join(root, file), 'utf8')
  t.ok(page.includes(` ${file}\n${text}\`\`\`\n`), `${file} is what the page shows`)
  return text
}

export interface Debian {
  /** Runs a listing on a host. Replaces names first, then the folders of other hosts. */
  play(t: Test, file: string, host: string, names: Readonly<Record<string, string>>): Promise<void>
  /** Returns a text of the page with the paths of a host. */
  at(host: string, text: string): string
  /** Starts and stops PostgreSQL, like its host would. */
  postgres(word: 'start' | 'stop'): Promise<void>
}

/** Stubs for commands that this machine lacks, or that would change it. */
const instead = `set -euo pipefail
ssh() { shift; "$@"; }
scp() {
  local word words=()
  for word; do words+=("\${word#*:}"); done
  cp "\${words[@]}"
}
runuser() {
  shift 3
  if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; else "$@"; fi
}
postgres() { runuser -u postgres -- pg_ctl --wait --silent --pgdata "$place/data" --log "$place/log" "$@"; }
systemctl() { [ "$*" = 'restart postgresql' ] && postgres --mode fast restart; }
apt-get() {
  [ "\${!#}" = postgresql ] || return 0
  runuser -u postgres -- initdb --username postgres --auth-local trust --auth-host scram-sha-256 --encoding UTF8 \\
    --pgdata "$place/data" > /dev/null
  printf '%s\\n' "port = $PGPORT" "unix_socket_directories = '$place'" 'fsync = off' >> "$place/data/postgresql.conf"
  postgres start
}
`

/** `dir` has the folders of the hosts. */
export function openDebian(t: Test, { dir, port }: { readonly dir: string; readonly port: number }): Debian {
  const [bin = ''] = globSync('/usr/lib/postgresql/*/bin').sort().reverse()
  if (bin === '') throw new Error('PostgreSQL 15 or newer is missing: apt-get install postgresql')
  const place = mkdtempSync(join(tmpdir(), 'sluice-servers-')) // a path that the user postgres can enter
  if (process.getuid?.() === 0) execFileSync('chown', ['postgres:', place])
  const run = async (script: string): Promise<void> => {
    const env = {
      PATH: `${bin}:${process.env['PATH']}`,
      PGHOST: place,
      PGPORT: `${port}`,
      PGUSER: 'postgres',
      place
    }
    await promisify(execFile)('bash', ['-c', `${instead}${script}`], { env, cwd: place })
  }
  t.teardown(async () => {
    await run('postgres --mode immediate stop || true')
    rmSync(place, { recursive: true, force: true })
  })
  const at = (host: string, text: string): string => text.replaceAll(folders, `${join(dir, host)}/`)
  return {
    at,
    postgres: word => run(`postgres --mode immediate ${word}`),
    async play(t, file, host, names) {
      let text = shown(t, file)
      for (const [name, value] of Object.entries(names)) text = text.replaceAll(name, value)
      await run(at(host, text))
    }
  }
}
