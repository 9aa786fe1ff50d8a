import t from 'tap'
import { unsuitableType } from '../server/check-filesystem.ts'
import { findMount } from '../server/find-mount.ts'

t.test(
  'network, cluster, guest-share and memory filesystems are refused; local FUSE filesystems are allowed',
  async t => {
    const allowed = 'ext4 xfs btrfs zfs overlay bcachefs f2fs fuseblk fuse.fuse-overlayfs fuse.ntfs-3g'
    const unsuitable =
      'tmpfs ramfs nfs nfs4 cifs smb3 9p virtiofs vboxsf gpfs beegfs beegfs_nodev ocfs2 gfs2 ceph lustre afs ' +
      'fuse fuse.sshfs fuse.glusterfs fuse.s3fs fuse.rclone fuse.grpcfuse fuse.unknown'

    for (const type of allowed.split(' ')) t.equal(unsuitableType(type), null, type)
    for (const type of unsuitable.split(' ')) t.equal(unsuitableType(type), type)
  }
)

t.test('a path has the filesystem of its innermost mount; of several there, the last one counts', async t => {
  const mounts = `22 1 253:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /srv rw - nfs4 nas:/srv rw,vers=4.2
31 30 0:27 / /srv/my\\040disk rw shared:5 master:2 - fuse.sshfs ann@nas:/ rw
32 22 0:28 / /mnt rw - autofs systemd-1 rw
33 32 8:1 / /mnt rw - xfs /dev/sda1 rw`
  const table = [
    ['/', 'ext4'],
    ['/srv2', 'ext4'],
    ['/srv', 'nfs4'],
    ['/srv/x/y', 'nfs4'],
    ['/srv/my disk/data', 'fuse.sshfs'],
    ['/mnt/data', 'xfs']
  ] as const
  for (const [path, type] of table) t.equal(findMount(path, mounts).type, type, path)
})
