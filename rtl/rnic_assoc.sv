// SPDX-License-Identifier: Apache-2.0
//
// rnic_assoc - set-associative store with true LRU, twin of models/assoc.c
//
// One memory of {valid, tag, data} a way and one of ranks, each with a registered read: what is
// read at set_i is compared with tag_i in the next cycle. touch_i, fill_i and drop_i act on the
// set read last. Memories are zero at power-up, as block RAM is. Up to 4 ways; a way number at or
// above ways_i is never filled. Ranks of a set are a permutation, 0 = used last.

module rnic_assoc #(
  parameter int unsigned SetsLog = 4,
  parameter int unsigned TagW    = 8,
  parameter int unsigned DataW   = 8
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [2:0]         ways_i,   // 1..4
  input  logic [SetsLog-1:0] set_i,    // to read
  input  logic [TagW-1:0]    tag_i,    // to compare with what was read last cycle, or to fill in
  input  logic [TagW-1:0]    mask_i,   // bits of the tag that count
  input  logic [DataW-1:0]   data_i,
  input  logic               touch_i,  // the line that hits becomes the most recent
  input  logic               fill_i,   // replace a free line, else the least recent one
  input  logic               drop_i,   // lines that match are no longer valid
  output logic               hit_o,
  output logic [DataW-1:0]   data_o    // of the line that hits, else 0
);
  localparam int unsigned Ways = 4;
  localparam int unsigned LineW = 1 + TagW + DataW;

  logic [SetsLog-1:0]    set_q;
  logic [Ways-1:0]       is_valid, is_match;
  logic [Ways*DataW-1:0] match_data;
  logic [1:0]            victim, used;
  logic [2*Ways-1:0]     rank_q, rank_d;
  logic [2*Ways-1:0]     rank_mem [2**SetsLog];

  // ---- lines ----
  for (genvar w = 0; w < Ways; w++) begin : g_way
    logic [LineW-1:0] mem [2**SetsLog];
    logic [LineW-1:0] line_q, line_d;
    logic             write;

    initial for (int i = 0; i < 2**SetsLog; i++) mem[i] = '0;

    assign is_valid[w] = line_q[LineW-1] && 3'(w) < ways_i;
    assign is_match[w] = is_valid[w] && ((line_q[DataW +: TagW] ^ tag_i) & mask_i) == '0;
    assign match_data[w*DataW +: DataW] = is_match[w] ? line_q[DataW-1:0] : '0;
    assign write  = (fill_i && victim == 2'(w)) || (drop_i && is_match[w]);
    assign line_d = fill_i ? {1'b1, tag_i, data_i} : {1'b0, line_q[LineW-2:0]};

    always_ff @(posedge clk_i) begin
      line_q <= mem[set_i];
      if (write) mem[set_q] <= line_d;
    end
  end

  assign hit_o  = is_match != '0;
  assign data_o = match_data[0*DataW +: DataW] | match_data[1*DataW +: DataW] |
                  match_data[2*DataW +: DataW] | match_data[3*DataW +: DataW];

  // ---- replacement ----
  always_comb begin
    victim = 2'd0;
    for (int w = Ways - 1; w >= 0; w--)
      if (3'(w) < ways_i && {1'b0, rank_q[2*w +: 2]} == ways_i - 3'd1) victim = 2'(w);
    for (int w = Ways - 1; w >= 0; w--)
      if (3'(w) < ways_i && !is_valid[w]) victim = 2'(w);
  end

  always_comb begin
    used = victim;
    if (!fill_i)
      for (int w = 0; w < Ways; w++)
        if (is_match[w]) used = 2'(w);
    rank_d = rank_q;
    for (int w = 0; w < Ways; w++)
      if (rank_q[2*w +: 2] < rank_q[2*used +: 2]) rank_d[2*w +: 2] = rank_q[2*w +: 2] + 2'd1;
    rank_d[2*used +: 2] = 2'd0;
  end

  initial for (int i = 0; i < 2**SetsLog; i++) rank_mem[i] = {2'd3, 2'd2, 2'd1, 2'd0};

  always_ff @(posedge clk_i) begin
    rank_q <= rank_mem[set_i];
    if (fill_i || (touch_i && hit_o)) rank_mem[set_q] <= rank_d;
  end

  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) set_q <= '0;
    else         set_q <= set_i;
endmodule
