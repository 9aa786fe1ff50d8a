import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Part, programContents } from './program-contents.ts'
import { epoch, type Folders, run } from './run.ts'
import {
  home,
  maintainer,
  programDescription,
  programSummary,
  revision,
  type Service,
  services,
  systemVersion,
  write,
  writeProgram,
  writeService
} from './system.ts'
import type { Target } from './targets.ts'
import { writeSbom } from './write-sbom.ts'

const debVersion = `${systemVersion}-${revision}`

/** Returns the paths of the packages; none for musl, which no distribution with this format uses. */
export function makeDebs(target: Target, folders: Folders): readonly string[] {
  if (target.libc === 'musl') return []
  return [
    ...programPackage(target, folders),
    ...services.flatMap(service => servicePackage(service, target, folders))
  ]
}

function programPackage(target: Target, { work, out }: Folders): readonly string[] {
  const dir = join(work, 'deb-sluice')
  writeProgram(dir, target, 'vendor-completions')
  write(join(dir, 'usr/share/lintian/overrides/sluice'), overrides)
  // The prebuilds of better-sqlite3 and argon2 need this version.
  const depends = 'libc6 (>= 2.34), libstdc++6 (>= 11), libgcc-s1'
  const recommends = 'Recommends: ca-certificates\n'
  const control = {
    name: 'sluice',
    depends,
    more: recommends,
    summary: programSummary,
    text: programDescription,
    contents: programContents(join(dir, home), target)
  }
  return pack({ dir, out }, { ...control, architecture: target.debian })
}

function servicePackage(service: Service, target: Target, { work, out }: Folders): readonly string[] {
  const { name, config, summary, description } = service
  const dir = join(work, `deb-${name}`)
  writeService(dir, service)
  write(join(dir, 'DEBIAN/conffiles'), `${config}\n`)
  for (const [script, text] of Object.entries(scriptsOf(service)))
    write(join(dir, 'DEBIAN', script), text, 0o755)
  const depends = `sluice (= ${debVersion}), systemd | systemd-standalone-sysusers | systemd-sysusers`
  const control = { name, depends, more: '', summary, text: description, contents: [] }
  return pack({ dir, out }, { ...control, architecture: target.debian })
}

interface Where {
  readonly dir: string // the package's files
  readonly out: string
}

interface Control {
  readonly name: string
  readonly architecture: string
  readonly depends: string
  readonly more: string
  readonly summary: string
  readonly text: readonly string[]
  readonly contents: readonly Part[]
}

function pack(
  { dir, out }: Where,
  { name, architecture, depends, more, summary, text, contents }: Control
): readonly string[] {
  const doc = join(dir, 'usr/share/doc', name)
  rmSync(join(doc, 'LICENSE'), { force: true }) // it is in /usr/share/common-licenses
  write(join(doc, 'copyright'), copyright)
  const date = new Date(Number(epoch) * 1000).toUTCString().replace('GMT', '+0000')
  const entry = '  * The changes are in /usr/lib/sluice/CHANGELOG.md of the package sluice.'
  write(
    join(doc, 'changelog.Debian'),
    `sluice (${debVersion}) stable; urgency=medium\n\n${entry}\n\n -- ${maintainer}  ${date}\n`
  )
  run('gzip', ['-9n', join(doc, 'changelog.Debian')])
  const size = Math.ceil(sizeOf(dir) / 1024)
  write(
    join(dir, 'DEBIAN/control'),
    `Package: ${name}
Version: ${debVersion}
Architecture: ${architecture}
Maintainer: ${maintainer}
Installed-Size: ${size}
Section: net
Priority: optional
Depends: ${depends}
${more}Description: ${summary}
${text.map(line => ` ${line}`).join('\n')}
`
  )
  const file = join(out, `${name}_${debVersion}_${architecture}.deb`)
  run('dpkg-deb', ['--root-owner-group', '-Zxz', '-z6', '--threads-max=2', '--build', dir, file], {
    env: { SOURCE_DATE_EPOCH: epoch },
    remedy: 'install dpkg'
  })
  rmSync(dir, { recursive: true })
  return [file, writeSbom(file, contents)]
}

const sizeOf = (dir: string): number =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)

/** Node and better-sqlite3 are shipped unchanged. */
const overrides = `sluice: embedded-library *zlib* [usr/lib/sluice/node/bin/node]
sluice: unstripped-binary-or-object [usr/lib/sluice/node/bin/node]
sluice: unstripped-binary-or-object [usr/lib/sluice/node_modules/better-sqlite3/prebuilds/*]
sluice: hardening-no-pie [usr/lib/sluice/node/bin/node]
sluice: embedded-javascript-library *
`

const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: sluice
Comment: The licenses of Node and of the libraries are beside them, below /usr/lib/sluice/node and
 /usr/lib/sluice/node_modules.

Files: *
Copyright: 2026 the authors of sluice
License: Apache-2.0
 On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.
`

/**
 * Returns the scripts of dpkg. The server starts at its installation, the agent once it is enrolled. An upgrade restarts
 * running services; removal keeps the state, purge deletes it. The timeout ends only the wait: a server may wait for a
 * PostgreSQL that the same run of dpkg upgrades.
 */
function scriptsOf({ role, name, user, state }: Service): Readonly<Record<string, string>> {
  const unit = `${name}.service`
  const first =
    role === 'server'
      ? `  deb-systemd-helper unmask ${unit} > /dev/null || true
  if deb-systemd-helper --quiet was-enabled ${unit}; then
    deb-systemd-helper enable ${unit} > /dev/null || true
  else
    deb-systemd-helper update-state ${unit} > /dev/null || true
  fi`
      : `  deb-systemd-helper update-state ${unit} > /dev/null || true`
  const start =
    role === 'server'
      ? `    if [ -z "$2" ] || systemctl --quiet is-active ${unit}; then timeout 90 deb-systemd-invoke restart ${unit} || true; fi`
      : `    if systemctl --quiet is-active ${unit}; then timeout 90 deb-systemd-invoke restart ${unit} || true; fi`
  const hint =
    role === 'server'
      ? '    echo "sluice-server: create the first administrator with: sluice setup"'
      : `    echo "sluice-agent: enroll this host with: sluice agent enroll URI --state-dir ${state}"
    echo "sluice-agent: then start it with: systemctl enable --now sluice-agent"`
  return {
    postinst: `#!/bin/sh
set -e
case "$1" in configure | abort-upgrade | abort-deconfigure | abort-remove)
  systemd-sysusers ${name}.conf
  if [ ! -d ${state} ]; then install -d -o ${user} -g ${user} -m 0700 ${state}; fi
${first}
  if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
${start}
  fi
  if [ -z "$2" ]; then
${hint}
  fi
  ;;
esac
`,
    prerm: `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then deb-systemd-invoke stop ${unit} || true; fi
`,
    postrm: `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
if [ "$1" = purge ]; then
  if command -v deb-systemd-helper > /dev/null; then deb-systemd-helper purge ${unit} > /dev/null || true; fi
  rm -rf ${state}
  rm -f /etc/sluice/${role}.env
  if [ -d /etc/sluice ]; then rmdir --ignore-fail-on-non-empty /etc/sluice; fi
fi
`
  }
}
