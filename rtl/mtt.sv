// SPDX-License-Identifier: Apache-2.0
//
// mtt - address translation, twin of models/mtt.c: same answers in the same cycles at every port
//
// A request is latched while its key's set is read; the page's set is read one cycle later from
// the key's entry; the look-up is over hit_cyc_i cycles after it began. fill_bytes_i is a read
// port on the buffer that the outstanding read fills: byte 0 in the lowest bits. Buffers belong
// to the host of this module; buf_ of a read is 0. <port>_wait_o: a request is held back until
// this answer port has room.

module mtt #(
  parameter int unsigned MptSetsLog = 12,  // largest mpt_sets_i
  parameter int unsigned SetsLog    = 14   // largest sets_i
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // parameters, constant after reset; sets as logarithms
  input  logic [3:0]          mpt_sets_i,
  input  logic [2:0]          mpt_ways_i,
  input  logic [3:0]          sets_i,
  input  logic [2:0]          ways_i,
  input  logic [6:0]          hit_cyc_i,
  input  logic [63:0]         mpt_pa_i,
  input  logic [31:0]         mpt_entries_i,
  // ports
  input  logic                req0_valid_i,
  output logic                req0_ready_o,
  input  rnic_msg_pkg::xlate_req_t req0_data_i,
  input  logic                req1_valid_i,
  output logic                req1_ready_o,
  input  rnic_msg_pkg::xlate_req_t req1_data_i,
  output logic                rsp0_valid_o,
  input  logic                rsp0_ready_i,
  output rnic_msg_pkg::xlate_rsp_t rsp0_data_o,
  output logic                rsp0_wait_o,
  output logic                rsp1_valid_o,
  input  logic                rsp1_ready_i,
  output rnic_msg_pkg::xlate_rsp_t rsp1_data_o,
  output logic                rsp1_wait_o,
  input  logic                inv_valid_i,
  output logic                inv_ready_o,
  input  rnic_msg_pkg::mpt_cmd_t   inv_data_i,
  output logic                fill_valid_o,
  input  logic                fill_ready_i,
  output rnic_msg_pkg::dma_req_t   fill_data_o,
  input  logic                fill_rsp_valid_i,
  output logic                fill_rsp_ready_o,
  input  rnic_msg_pkg::dma_rsp_t   fill_rsp_data_i,
  input  logic [511:0]        fill_bytes_i,
  // statistics
  output logic [63:0]         requests_o,
  output logic [63:0]         mpt_hits_o,
  output logic [63:0]         mpt_misses_o,
  output logic [63:0]         mtt_hits_o,
  output logic [63:0]         mtt_misses_o,
  output logic [63:0]         errors_o,
  output logic [63:0]         invalidations_o,
  // waves
  output logic [2:0]          state_o,
  output logic                client_o,
  output logic [51:0]         va_page_o,
  output logic                is_mpt_hit_o,
  output logic                is_mtt_hit_o,
  output logic [2:0]          status_o,
  output logic                idle_o
);
  localparam int unsigned MptW = 3 * 64 + 16 + 8 + 8 + 5;  // bits of mpt_line_t
  localparam int unsigned MttW = 52;                       // page address
  localparam int unsigned PageW = 40;                      // number of a page in its region
  localparam int unsigned LogPageMin = 12;
  localparam int unsigned LogPageMax = 31;
  localparam int unsigned LogRegionMax = 51;

  typedef enum logic [2:0] { Idle, Lookup, Fill, Drop, Walk } state_e;

  typedef struct packed {
    logic [63:0] start;
    logic [63:0] len;
    logic [63:0] mtt_pa;
    logic [15:0] pd;
    logic [7:0]  access;
    logic [7:0]  key8;
    logic [4:0]  log_page;
  } mpt_line_t;

  // Table entries are big-endian.
  function automatic logic [63:0] be64(input logic [63:0] bytes);
    for (int i = 0; i < 8; i++) be64[8*i +: 8] = bytes[8*(7 - i) +: 8];
  endfunction

  // ---- state ----
  state_e              state_q, state_d;
  rnic_msg_pkg::xlate_req_t at_q, at_d;
  logic                client_q, client_d;
  logic [6:0]          wait_q, wait_d;                 // cycles until the look-up is over
  logic                is_mpt_fill_q, is_mpt_fill_d;
  logic                has_missed_mpt_q, has_missed_mpt_d, has_missed_mtt_q, has_missed_mtt_d;
  logic [7:0]          fill_status_q, fill_status_d;
  logic [SetsLog-1:0]  walk_set_q, walk_set_d;
  logic [SetsLog:0]    walk_left_q, walk_left_d;

  // ---- which request ----
  rnic_msg_pkg::xlate_req_t req;
  logic                can_take0, can_take1, pick, take, take_inv;

  assign can_take0    = req0_valid_i && rsp0_ready_i;
  assign can_take1    = req1_valid_i && rsp1_ready_i;
  assign pick         = client_q ? !can_take0 : can_take1;
  assign take_inv     = state_q == Idle && inv_valid_i;
  assign take         = state_q == Idle && !inv_valid_i && (can_take0 || can_take1);
  assign req          = pick ? req1_data_i : req0_data_i;
  assign req0_ready_o = take && !pick;
  assign req1_ready_o = take && pick;
  assign inv_ready_o  = state_q == Idle;
  assign rsp0_wait_o  = state_q == Idle && !inv_valid_i && req0_valid_i;
  assign rsp1_wait_o  = state_q == Idle && !inv_valid_i && req1_valid_i;

  // ---- the two caches ----
  logic [23:0]           key_idx, mpt_idx;
  logic [MptSetsLog-1:0] mpt_set;
  logic [SetsLog-1:0]    mtt_set, sets_mask;
  logic [PageW-1:0]      page;
  logic [23+PageW:0]     mtt_tag;
  logic                  mpt_hit, mtt_hit, mpt_fill, mtt_fill, fire;
  mpt_line_t             mpt, mpt_new;
  logic [MttW-1:0]       mtt_page;
  logic [63:0]           mtt_addr, page_mask;
  logic [63:0]           page_va, page_start;
  logic [63:0]           mtt_entry;

  assign key_idx    = at_q.key[31:8];
  assign mpt_idx    = state_q != Idle ? key_idx :
                      inv_valid_i ? inv_data_i.key[31:8] : req.key[31:8];
  assign mpt_set    = mpt_idx[MptSetsLog-1:0] & ~({MptSetsLog{1'b1}} << mpt_sets_i);
  assign page_va    = at_q.va >> mpt.log_page;
  assign page_start = mpt.start >> mpt.log_page;
  assign page       = page_va[PageW-1:0] - page_start[PageW-1:0];
  assign mtt_addr   = mpt.mtt_pa + {21'd0, page, 3'd0};
  assign sets_mask  = ~({SetsLog{1'b1}} << sets_i);
  assign mtt_set    = (state_q == Walk ? walk_set_q : mtt_addr[3 +: SetsLog]) & sets_mask;
  assign mtt_tag    = {key_idx, page};
  assign page_mask  = ~({64{1'b1}} << mpt.log_page);

  rnic_assoc #(.SetsLog(MptSetsLog), .TagW(24), .DataW(MptW)) u_mpt (
    .clk_i, .rst_ni, .ways_i(mpt_ways_i), .set_i(mpt_set), .tag_i(key_idx), .mask_i({24{1'b1}}),
    .data_i(mpt_new), .touch_i(fire), .fill_i(mpt_fill), .drop_i(state_q == Drop),
    .hit_o(mpt_hit), .data_o(mpt)
  );

  rnic_assoc #(.SetsLog(SetsLog), .TagW(24 + PageW), .DataW(MttW)) u_mtt (
    .clk_i, .rst_ni, .ways_i, .set_i(mtt_set), .tag_i(mtt_tag),
    .mask_i({{24{1'b1}}, {PageW{state_q != Walk}}}), .data_i(mtt_entry[63 -: MttW]),
    .touch_i(fire && do_translate), .fill_i(mtt_fill), .drop_i(state_q == Walk),
    .hit_o(mtt_hit), .data_o(mtt_page)
  );

  // ---- the look-up ----
  logic        is_due, need_mpt, need_mtt, do_translate, is_inside;
  logic [7:0]  status;
  logic [63:0] offset;
  rnic_msg_pkg::xlate_rsp_t rsp;

  assign offset    = at_q.va - mpt.start;
  assign is_inside = at_q.va >= mpt.start && offset < mpt.len &&
                     {32'd0, at_q.len} <= mpt.len - offset;
  assign is_due    = state_q == Lookup && wait_q == '0;

  always_comb begin
    status       = rnic_pkg::XLATE_OK;
    need_mpt     = 1'b0;
    need_mtt     = 1'b0;
    do_translate = 1'b0;
    if ({8'd0, key_idx} >= mpt_entries_i)                    status = rnic_pkg::XLATE_BAD_KEY;
    else if (fill_status_q != rnic_pkg::XLATE_OK)             status = fill_status_q;
    else if (!mpt_hit)                                       need_mpt = 1'b1;
    else if (mpt.key8 != at_q.key[7:0])                      status = rnic_pkg::XLATE_BAD_KEY;
    else if (mpt.pd != at_q.pd)                              status = rnic_pkg::XLATE_BAD_PD;
    else if ((mpt.access & at_q.access) != at_q.access)      status = rnic_pkg::XLATE_NO_ACCESS;
    else if (at_q.len != '0 && !is_inside)                   status = rnic_pkg::XLATE_OUT_OF_RANGE;
    else if (at_q.len != '0 && !mtt_hit)                     need_mtt = 1'b1;
    else                                                     do_translate = at_q.len != '0;
  end

  assign rsp.pa = do_translate ? ({mtt_page, 12'd0} & ~page_mask) | (at_q.va & page_mask) : '0;
  assign rsp.len = do_translate ? page_mask[31:0] - (at_q.va[31:0] & page_mask[31:0]) + 32'd1 : '0;
  assign rsp.tag = at_q.tag;
  assign rsp.status = status;
  assign rsp0_data_o = rsp;
  assign rsp1_data_o = rsp;
  assign rsp0_valid_o = is_due && !need_mpt && !need_mtt && !client_q;
  assign rsp1_valid_o = is_due && !need_mpt && !need_mtt && client_q;
  assign fire = (rsp0_valid_o && rsp0_ready_i) || (rsp1_valid_o && rsp1_ready_i);

  // ---- reads of entries ----
  logic       fill_fire, mtt_is_present;
  logic [7:0] log_page;
  logic       mpt_is_valid, fill_good;

  assign fill_valid_o = is_due && (need_mpt || need_mtt);
  assign fill_fire    = fill_valid_o && fill_ready_i;

  always_comb begin
    fill_data_o      = '0;
    fill_data_o.addr = need_mpt ? mpt_pa_i + {34'd0, key_idx, 6'd0} : mtt_addr;
    fill_data_o.key  = rnic_pkg::KEY_PHYS;
    fill_data_o.len  = need_mpt ? rnic_pkg::MPT_SIZE : rnic_pkg::MTT_ENTRY;
    fill_data_o.cls  = need_mpt ? rnic_pkg::DMA_MPT : rnic_pkg::DMA_MTT;
  end

  assign mtt_entry        = be64(fill_bytes_i[63:0]);
  assign mpt_new.start    = be64(fill_bytes_i[8*rnic_pkg::MPT_START +: 64]);
  assign mpt_new.len      = be64(fill_bytes_i[8*rnic_pkg::MPT_LEN +: 64]);
  assign mpt_new.mtt_pa   = be64(fill_bytes_i[8*rnic_pkg::MPT_MTT +: 64]);
  assign mpt_new.pd       = {fill_bytes_i[8*rnic_pkg::MPT_PD +: 8],
                             fill_bytes_i[8*rnic_pkg::MPT_PD + 8 +: 8]};
  assign mpt_new.access   = fill_bytes_i[8*rnic_pkg::MPT_ACCESS +: 8];
  assign mpt_new.key8     = fill_bytes_i[8*rnic_pkg::MPT_KEY8 +: 8];
  assign mpt_new.log_page = log_page[4:0];
  assign log_page         = fill_bytes_i[8*rnic_pkg::MPT_LOG_PAGE +: 8];
  assign mpt_is_valid     = fill_bytes_i[8*rnic_pkg::MPT_FLAGS] && log_page >= LogPageMin[7:0] &&
                            log_page <= LogPageMax[7:0] && mpt_new.len >> LogRegionMax == '0;
  assign mtt_is_present   = mtt_entry[1:0] == rnic_pkg::MTT_PRESENT;
  assign fill_rsp_ready_o = state_q == Fill;
  assign fill_good = state_q == Fill && fill_rsp_valid_i && fill_status_d == rnic_pkg::XLATE_OK;
  assign mpt_fill  = fill_good && is_mpt_fill_q;
  assign mtt_fill  = fill_good && !is_mpt_fill_q;

  // ---- which sets to walk when a key is dropped ----
  logic [63:0]      n_pages;
  logic [SetsLog:0] n_sets;

  assign n_sets  = {{SetsLog{1'b0}}, 1'b1} << sets_i;
  assign n_pages = (mpt.len >> mpt.log_page) + 64'd2;

  // ---- next state ----
  always_comb begin
    state_d          = state_q;
    at_d             = at_q;
    client_d         = client_q;
    wait_d           = wait_q == '0 ? '0 : wait_q - 7'd1;
    is_mpt_fill_d    = is_mpt_fill_q;
    has_missed_mpt_d = has_missed_mpt_q;
    has_missed_mtt_d = has_missed_mtt_q;
    fill_status_d    = fill_status_q;
    walk_set_d       = walk_set_q;
    walk_left_d      = walk_left_q;
    case (state_q)
      Idle: begin
        if (take_inv) begin
          at_d.key = inv_data_i.key;
          state_d  = Drop;
        end else if (take) begin
          at_d             = req;
          client_d         = pick;
          wait_d           = hit_cyc_i - 7'd1;
          has_missed_mpt_d = 1'b0;
          has_missed_mtt_d = 1'b0;
          fill_status_d    = rnic_pkg::XLATE_OK;
          state_d          = Lookup;
        end
      end
      Lookup: begin
        if (fire) state_d = Idle;
        if (fill_fire) begin
          is_mpt_fill_d    = need_mpt;
          has_missed_mpt_d = has_missed_mpt_q || need_mpt;
          has_missed_mtt_d = has_missed_mtt_q || need_mtt;
          state_d          = Fill;
        end
      end
      Fill: begin
        if (fill_rsp_data_i.status != rnic_pkg::XLATE_OK) fill_status_d = rnic_pkg::XLATE_BAD_KEY;
        else if (is_mpt_fill_q && !mpt_is_valid) fill_status_d = rnic_pkg::XLATE_BAD_KEY;
        else if (!is_mpt_fill_q && !mtt_is_present) fill_status_d = rnic_pkg::XLATE_NO_ACCESS;
        else fill_status_d = rnic_pkg::XLATE_OK;
        if (fill_rsp_valid_i) begin
          wait_d  = hit_cyc_i;
          state_d = Lookup;
        end
      end
      Drop: begin
        walk_set_d  = mpt_hit ? mpt.mtt_pa[3 +: SetsLog] : '0;
        walk_left_d = n_sets;
        if (mpt_hit && n_pages < {{(63 - SetsLog){1'b0}}, n_sets}) walk_left_d = n_pages[SetsLog:0];
        state_d     = Walk;
      end
      default: begin  // Walk: the set read last cycle is cleared while the next is read
        walk_set_d  = walk_set_q + {{(SetsLog - 1){1'b0}}, 1'b1};
        walk_left_d = walk_left_q - {{SetsLog{1'b0}}, 1'b1};
        if (walk_left_q == '0) state_d = Idle;
      end
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q          <= Idle;
      at_q             <= '0;
      client_q         <= 1'b1;  // so that client 0 has the first turn
      wait_q           <= '0;
      is_mpt_fill_q    <= 1'b0;
      has_missed_mpt_q <= 1'b0;
      has_missed_mtt_q <= 1'b0;
      fill_status_q    <= '0;
      walk_set_q       <= '0;
      walk_left_q      <= '0;
    end else begin
      state_q          <= state_d;
      at_q             <= at_d;
      client_q         <= client_d;
      wait_q           <= wait_d;
      is_mpt_fill_q    <= is_mpt_fill_d;
      has_missed_mpt_q <= has_missed_mpt_d;
      has_missed_mtt_q <= has_missed_mtt_d;
      fill_status_q    <= fill_status_d;
      walk_set_q       <= walk_set_d;
      walk_left_q      <= walk_left_d;
    end
  end

  // ---- statistics and waves ----
  logic is_mpt_hit_d, is_mtt_hit_d;

  assign is_mpt_hit_d = mpt_hit && !has_missed_mpt_q;
  assign is_mtt_hit_d = do_translate && !has_missed_mtt_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      requests_o      <= '0;
      mpt_hits_o      <= '0;
      mpt_misses_o    <= '0;
      mtt_hits_o      <= '0;
      mtt_misses_o    <= '0;
      errors_o        <= '0;
      invalidations_o <= '0;
      va_page_o       <= '0;
      is_mpt_hit_o    <= 1'b0;
      is_mtt_hit_o    <= 1'b0;
      status_o        <= '0;
    end else begin
      requests_o      <= requests_o + {63'd0, take};
      mpt_misses_o    <= mpt_misses_o + {63'd0, fill_fire && need_mpt};
      mtt_misses_o    <= mtt_misses_o + {63'd0, fill_fire && need_mtt};
      mpt_hits_o      <= mpt_hits_o + {63'd0, fire && is_mpt_hit_d};
      mtt_hits_o      <= mtt_hits_o + {63'd0, fire && is_mtt_hit_d};
      errors_o        <= errors_o + {63'd0, fire && status != rnic_pkg::XLATE_OK};
      invalidations_o <= invalidations_o + {63'd0, take_inv};
      if (take) va_page_o <= req.va[63:12];
      if (fire) begin
        is_mpt_hit_o <= is_mpt_hit_d;
        is_mtt_hit_o <= is_mtt_hit_d;
        status_o     <= status[2:0];
      end
    end
  end

  assign state_o  = state_q;
  assign client_o = client_q;
  assign idle_o   = state_q == Idle;
endmodule
