// The machines that packages are built for.

export interface Target {
  /** Also the folder of its native engine in native/prebuilds, where native/load.ts searches. */
  readonly name: string
  readonly arch: 'x64' | 'arm64'
  readonly libc: 'glibc' | 'musl'
  readonly triple: string // for the compiler; includes the oldest supported glibc
  readonly sqlite: string // prebuild name in better-sqlite3
  readonly argon2: string // prebuild name in argon2
  readonly debian: 'amd64' | 'arm64' // also the architecture of OCI images
  readonly rpm: 'x86_64' | 'aarch64'
}

export const targets: readonly Target[] = [
  {
    name: 'linux-x64',
    arch: 'x64',
    libc: 'glibc',
    triple: 'x86_64-linux-gnu.2.28',
    sqlite: 'linux-x64',
    argon2: 'linux-x64/argon2.glibc',
    debian: 'amd64',
    rpm: 'x86_64'
  },
  {
    name: 'linux-arm64',
    arch: 'arm64',
    libc: 'glibc',
    triple: 'aarch64-linux-gnu.2.28',
    sqlite: 'linux-arm64',
    argon2: 'linux-arm64/argon2.armv8.glibc',
    debian: 'arm64',
    rpm: 'aarch64'
  },
  {
    name: 'linux-x64-musl',
    arch: 'x64',
    libc: 'musl',
    triple: 'x86_64-linux-musl',
    sqlite: 'linuxmusl-x64',
    argon2: 'linux-x64/argon2.musl',
    debian: 'amd64',
    rpm: 'x86_64'
  },
  {
    name: 'linux-arm64-musl',
    arch: 'arm64',
    libc: 'musl',
    triple: 'aarch64-linux-musl',
    sqlite: 'linuxmusl-arm64',
    argon2: 'linux-arm64/argon2.armv8.musl',
    debian: 'arm64',
    rpm: 'aarch64'
  }
]
