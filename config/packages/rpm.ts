// Builds the .rpm packages from the same files as the .deb. Uses rpmbuild, which needs neither root nor an rpm database.
import { globSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
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

const rpmVersion = `${systemVersion}-${revision}`

/** Returns the paths of the packages; none for musl, which no distribution with this format uses. */
export function makeRpms(target: Target, folders: Folders): readonly string[] {
  if (target.libc === 'musl') return []
  return [
    ...programPackage(target, folders),
    ...services.flatMap(service => servicePackage(service, target, folders))
  ]
}

/** Libraries that Node and the prebuilds of better-sqlite3 and argon2 need, by their rpm names. */
const libraries = ['libc.so.6(GLIBC_2.34)(64bit)', 'libstdc++.so.6()(64bit)', 'libgcc_s.so.1()(64bit)']

function programPackage(target: Target, folders: Folders): readonly string[] {
  const dir = join(folders.work, 'rpm', 'files')
  writeProgram(dir, target, 'site-functions')
  const spec = {
    name: 'sluice',
    requires: ['/bin/sh', ...libraries],
    scripts: '',
    summary: programSummary,
    text: programDescription,
    contents: programContents(join(dir, home), target),
    files: ['/usr/lib/sluice', '/usr/bin/sluice', ...sharedFiles(dir)]
  }
  return pack(spec, target, folders)
}

/** Lists files only: other packages own the folders below /usr/share. */
const sharedFiles = (dir: string): string[] =>
  globSync('usr/share/**', { cwd: dir })
    .filter(path => !lstatSync(join(dir, path)).isDirectory())
    .map(path => `/${path}`)
    .sort()

function servicePackage(service: Service, target: Target, folders: Folders): readonly string[] {
  const { name, config, summary, description } = service
  writeService(join(folders.work, 'rpm', 'files'), service)
  const spec = {
    name,
    requires: [`sluice = ${rpmVersion}`, 'systemd'],
    scripts: scriptsOf(service),
    summary,
    text: description,
    contents: [],
    files: [
      `%license /usr/share/doc/${name}/LICENSE`,
      '%dir /etc/sluice',
      `%config(noreplace) ${config}`,
      `/usr/lib/systemd/system/${name}.service`,
      `/usr/lib/sysusers.d/${name}.conf`
    ]
  }
  return pack(spec, target, folders)
}

interface Spec {
  readonly name: string
  readonly requires: readonly string[]
  readonly summary: string
  readonly text: readonly string[]
  readonly files: readonly string[]
  readonly scripts: string
  readonly contents: readonly Part[]
}

/** Packs the folder `rpm/files` and deletes it. */
function pack(spec: Spec, { rpm: architecture }: Target, { work, out }: Folders): readonly string[] {
  const top = join(work, 'rpm')
  write(join(top, `${spec.name}.spec`), textOf(spec, join(top, 'files')))
  mkdirSync(join(top, 'BUILD'), { recursive: true })
  const macros: Readonly<Record<string, string>> = {
    _topdir: top,
    _rpmdir: out,
    _rpmfilename: '%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm',
    // The same files make the same package.
    ...{
      use_source_date_epoch_as_buildtime: '1',
      clamp_mtime_to_source_date_epoch: '1',
      _buildhost: 'sluice'
    },
    // The files are shipped unchanged: not stripped, compressed or listed by build id.
    __os_install_post: '%{nil}',
    debug_package: '%{nil}',
    _build_id_links: 'none',
    _binary_payload: 'w6T2.xzdio'
  }
  const defines = Object.entries(macros).flatMap(([name, value]) => ['--define', `${name} ${value}`])
  const args = ['-bb', '--quiet', '--target', `${architecture}-linux`, ...defines]
  run('rpmbuild', [...args, join(top, `${spec.name}.spec`)], {
    env: { SOURCE_DATE_EPOCH: epoch, HOME: top },
    remedy: 'install rpm (Debian) or rpm-build (Fedora)'
  })
  rmSync(top, { recursive: true })
  const file = join(out, `${spec.name}-${rpmVersion}.${architecture}.rpm`)
  return [file, writeSbom(file, spec.contents)]
}

/** Returns the spec of a package with its files in a folder. */
function textOf({ name, requires, summary, text, files, scripts }: Spec, dir: string): string {
  const [day, date, month, year] = new Date(Number(epoch) * 1000).toUTCString().split(/,? /)
  return `Name: ${name}
Version: ${systemVersion}
Release: ${revision}
Summary: ${summary}
License: Apache-2.0
Packager: ${maintainer}
AutoReqProv: no
${requires.map(one => `Requires: ${one}`).join('\n')}

%description
${text.join('\n')}

%install
mkdir -p %{buildroot}
cp -a ${dir}/. %{buildroot}

${scripts}
%files
%defattr(-,root,root,-)
${files.join('\n')}

%changelog
* ${day} ${month} ${date} ${year} ${maintainer} - ${rpmVersion}
- The changes are in /usr/lib/sluice/CHANGELOG.md of the package sluice.
`
}

/**
 * Returns the scripts of rpm. By the custom of its distributions, only services in a preset of the administrator start at
 * the installation. An upgrade restarts running services once all its packages are installed; removal keeps the state.
 */
function scriptsOf({ name, user, state }: Service): string {
  const unit = `${name}.service`
  const ifSystemd = '[ -d /run/systemd/system ]'
  return `%post
systemd-sysusers ${name}.conf
if [ ! -d ${state} ]; then install -d -o ${user} -g ${user} -m 0700 ${state}; fi
if [ "$1" = 1 ]; then systemctl --no-reload preset ${unit} > /dev/null 2>&1 || :; fi

%posttrans
if ${ifSystemd}; then
  systemctl daemon-reload || :
  timeout 90 systemctl try-restart ${unit} || : # a server may wait for a PostgreSQL that the same transaction upgrades
fi

%preun
if [ "$1" = 0 ]; then
  if ${ifSystemd}; then systemctl --no-reload disable --now ${unit} > /dev/null 2>&1 || :
  else systemctl --no-reload disable ${unit} > /dev/null 2>&1 || :; fi
fi

%postun
if [ "$1" = 0 ] && ${ifSystemd}; then systemctl daemon-reload || :; fi
`
}
