/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cqe_compress.h - compressed completions: their bytes, shared by the completion writer and the driver, and the
 * writer's half
 *
 * A block of n completions takes n entries of the CQ, of which few are written: in the first the title, a CQE of
 * format CQE_COMPRESSED (op_own bits 3:2) whose byte_cnt is n, and arrays of 8 mini CQEs, the first array in the
 * entry behind the title, number k from then on in the entry 8 k behind it. What the entries between hold is stale,
 * so the program sets the owner byte of all n before it gives them back.
 * Sources: Linux include/linux/mlx5/device.h (struct mlx5_mini_cqe8, MLX5_COMPRESSED, MLX5_MINI_CQE_ARRAY_SIZE) and
 * drivers/net/ethernet/mellanox/mlx5/core/en_rx.c (mlx5e_decompress_cqes_start, _cont, mlx5e_cqes_update_owner:
 * where the arrays stand); rdma-core providers/mlx5/mlx5dv.h (enum mlx5dv_cqe_comp_res_format).
 */
#ifndef MODELS_CQE_COMPRESS_H
#define MODELS_CQE_COMPRESS_H

#include <stdint.h>

#define CQE_FORMAT_SHIFT 2u /* in op_own */
#define CQE_FORMAT_MASK (3u << CQE_FORMAT_SHIFT)
#define CQE_COMPRESSED (3u << CQE_FORMAT_SHIFT)
#define MINI_ARRAY 8u /* mini CQEs in an entry of 64 B */
#define MINI_BYTES 8u
#define MINI_MAX 64u /* in a block */

/*
 * A mini CQE, 8 B, big-endian: requests wqe_counter16 s_wqe_opcode8 reserved8 byte_cnt32; receives rx_hash_result32
 * byte_cnt32 or checksum16 stridx16 byte_cnt32, by enum mini_format.
 */
enum mini_format {
	MINI_HASH,       /* WQE counters count up from the title's */
	MINI_CSUM,       /* the same */
	MINI_CSUM_STRIDX /* stridx is the WQE counter */
};
enum { MINI_COUNTER = 0, MINI_OPCODE = 2, MINI_STRIDX = 2, MINI_BYTE_CNT = 4 };

/* Which entry behind the title holds array 'k'. */
static inline uint32_t mini_array_at(uint32_t k)
{
	return k ? k * MINI_ARRAY : 1;
}

#endif
